-- How long a run of a job may take in all, however often it renews: far more than it should, so
-- that only a run that hangs meets it. A careful run does one item at a time.
create or replace function coordinator.deadline(
    p_kind everytab.job_kind, p_crashes integer, p_override_ms bigint)
returns interval language plpgsql immutable set search_path = everytab, pg_temp as $$
begin
    return coalesce(p_override_ms * interval '1 ms',
                    case p_kind when 'icon' then interval '2 hours' else interval '1 hour' end)
           * case when coordinator.is_careful(p_crashes) then 8 else 1 end;
end $$;
