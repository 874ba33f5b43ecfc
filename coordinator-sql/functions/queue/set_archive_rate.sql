-- Sets the fleet's requests per second to a run's source (null: unlimited). Workers receive the
-- new rate when they renew their leases.
create or replace function coordinator.set_archive_rate(p_run integer, p_archive_rate integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update runs set archive_rate = p_archive_rate
     where run = p_run and state in ('running', 'paused');
    return found;
end $$;
