-- Sets the fleet's icon requests per second for a run (null: unlimited). Workers receive the
-- new rate when they renew their leases.
create or replace function coordinator.set_rate(p_run integer, p_rate integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update runs set rate = p_rate where run = p_run and state in ('running', 'paused');
    return found;
end $$;
