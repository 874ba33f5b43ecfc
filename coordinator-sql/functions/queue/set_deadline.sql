-- Sets how long one lease of a run's jobs may last in total. Null means that the deadline
-- depends on the kind.
create or replace function coordinator.set_deadline(p_run integer, p_deadline_ms bigint)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update runs set deadline_ms = p_deadline_ms
     where run = p_run and state in ('running', 'paused');
    return found;
end $$;
