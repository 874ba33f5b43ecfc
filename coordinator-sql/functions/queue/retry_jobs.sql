-- Skips jobs that were leased since retriable_jobs returned them. The lock prevents jobs from
-- ending while the jobs that read their output are reset. It blocks all workers, so the caller
-- should pass at most a few hundred jobs. Raises ET011 if the jobs remain locked by another
-- session, and lock_not_available if another operator's call holds the run's row.
create or replace function coordinator.retry_jobs(
    p_run integer, p_job_ids bigint[], p_lease_numbers integer[])
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    chosen bigint[];
begin
    perform coordinator.lock_tables(array['jobs'], 'exclusive');
    perform 1 from runs r where r.run = p_run and r.state <> 'cancelled'
       for no key update nowait;
    if not found then
        return 0;
    end if;
    select array_agg(j.job_id) into chosen
      from unnest(p_job_ids, p_lease_numbers) as given (job_id, lease_number)
      join jobs j on j.job_id = given.job_id and j.lease_number = given.lease_number
     where j.run = p_run and j.state in ('completed', 'discarded');
    return coordinator.reopen(p_run, coalesce(chosen, '{}'), 'scan retry');
end $$;
