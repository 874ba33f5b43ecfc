-- Takes the closing stages (search, publish) after p_kind back to where they were before they were
-- opened: their jobs wait at not_before = 'infinity', workers that hold one lose the lease, and the
-- stages count nothing until they are opened again. The caller has locked the jobs.
create or replace function coordinator.reset_closing_stages(
    p_run integer, p_kind everytab.job_kind)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    perform coordinator.free_jobs(
        array(select j.job_id from jobs j
               where j.run = p_run and j.kind in ('search', 'publish') and j.kind > p_kind),
        'pending', p_not_before => 'infinity', p_attempts => 0, p_crashes => 0, p_revoked => true);
    update stages set outstanding = 0, done = 0, discarded = 0, finished_at = null
     where run = p_run and kind in ('search', 'publish') and kind > p_kind;
end $$;
