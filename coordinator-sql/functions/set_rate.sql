-- Sets the fleet's icon requests a second (null: no limit); workers learn it with their renewals.
-- False: the scan has ended.
create or replace function coordinator.set_rate(p_scan integer, p_rate integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update scans set rate = p_rate where scan = p_scan and state in ('running', 'paused');
    return found;
end $$;
