-- Ends a scan: no job of it is leased any more, and those that run lose their leases at the next
-- renewal or completion. False: there is no such scan, or it has ended. The lock comes first, so
-- that no job is leased or published meanwhile.
create or replace function coordinator.cancel_scan(p_scan integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    lock table jobs in exclusive mode;
    update scans set state = 'cancelled', finished_at = clock_timestamp()
     where scan = p_scan and state in ('running', 'paused');
    if not found then
        return false;
    end if;
    perform coordinator.revoke_leases(p_scan, 'the scan was cancelled');
    return true;
end $$;
