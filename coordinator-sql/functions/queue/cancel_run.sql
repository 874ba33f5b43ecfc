-- A worker that holds a lease loses it at its next renewal or completion. The lock is taken
-- first, so that no job is leased or published in the meantime. Raises ET011 if the jobs remain
-- locked by another session.
create or replace function coordinator.cancel_run(p_run integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform coordinator.lock_tables(array['jobs'], 'exclusive');
    update runs set state = 'cancelled', finished_at = clock_timestamp()
     where run = p_run and state in ('running', 'paused');
    if not found then
        return false;
    end if;
    perform coordinator.revoke_leases(p_run, 'the scan was cancelled');
    return true;
end $$;
