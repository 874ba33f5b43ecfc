-- An event is an attempt that ended without completion, or a reopening.
create or replace function coordinator.count_early_ends(p_scan integer, p_kind everytab.job_kind)
returns bigint
language sql stable security definer set search_path = everytab, pg_temp as $$
    select count(*) from job_events e join jobs j on j.job_id = e.job_id
     where j.run = p_scan and j.kind = p_kind;
$$;
