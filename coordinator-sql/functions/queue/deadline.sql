-- The deadline is far longer than a job takes, so that only a hanging job reaches it.
-- p_override_ms is the run's own deadline and applies at any rate.
create or replace function coordinator.deadline(
    p_kind everytab.job_kind, p_crashes integer, p_override_ms bigint,
    p_rate integer, p_archive_rate integer)
returns interval language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- A job with 1,200 hosts takes minutes. If it takes an hour, it hangs.
    usual constant interval := '1 hour';
    -- Icon jobs wait for the fleet's rate and for politeness, so they get twice this time.
    icons constant interval := '2 hours';
    -- Under isolation a job processes one item at a time instead of many.
    isolation_factor constant integer := 8;
    factor constant integer := case when coordinator.uses_isolation(p_crashes)
                                    then isolation_factor else 1 end;
begin
    return coalesce(p_override_ms * interval '1 ms' * factor,
                    greatest(case p_kind when 'icon' then icons else usual end * factor,
                             coordinator.time_at_rate(p_kind, p_rate, p_archive_rate)));
end $$;
