-- Sets how many icon requests a second the fleet makes for a run (null: no limit). Workers learn
-- the rate with their renewals. False: the run has ended.
create or replace function coordinator.set_rate(p_run integer, p_rate integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update runs set rate = p_rate where run = p_run and state in ('running', 'paused');
    return found;
end $$;
