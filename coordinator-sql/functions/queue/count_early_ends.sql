-- Returns the number of events for a scan's jobs of this kind: attempts that ended without
-- completion, and jobs that were reopened.
create or replace function coordinator.count_early_ends(p_scan integer, p_kind everytab.job_kind)
returns bigint
language sql stable security definer set search_path = everytab, pg_temp as $$
    select count(*) from job_events e join jobs j on j.job_id = e.job_id
     where j.run = p_scan and j.kind = p_kind;
$$;
