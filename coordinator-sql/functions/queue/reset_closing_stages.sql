-- Workers that hold a job of these stages lose the lease. search and map do not read each
-- other's output. The caller has locked the table jobs.
create or replace function coordinator.reset_closing_stages(
    p_run integer, p_kind everytab.job_kind)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    later job_kind[] := case
        when p_kind < 'search' then array['search', 'map', 'publish']
        when p_kind < 'publish' then array['publish']
        when p_kind = 'crawl-index' then array['crawl-close']
        else array[]::text[] end;
begin
    perform coordinator.free_jobs(
        -- Jobs that are already waiting are not updated, because a retry calls this many times.
        array(select j.job_id from jobs j
               where j.run = p_run and j.kind = any (later)
                 and (j.state, j.not_before, j.attempts, j.crashes)
                     is distinct from ('pending'::job_state, 'infinity'::timestamptz, 0, 0)),
        'pending', p_not_before => 'infinity', p_attempts => 0, p_crashes => 0, p_revoked => true);
    update stages set outstanding = 0, done = 0, discarded = 0, finished_at = null
     where run = p_run and kind = any (later);
end $$;
