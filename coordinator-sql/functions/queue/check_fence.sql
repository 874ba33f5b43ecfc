-- The fence: locks the job's row if job id, lease number and token are its current lease, and
-- otherwise returns nulls. Until the transaction ends, the row lock prevents the sweep and all
-- other transactions from changing the job.
create or replace function coordinator.check_fence(
    p_job_id bigint, p_lease_number integer, p_token uuid)
returns everytab.jobs language plpgsql set search_path = everytab, pg_temp as $$
declare
    fenced jobs;
begin
    select * into fenced from jobs
     where job_id = p_job_id and lease_number = p_lease_number and lease_token = p_token
       and state = 'leased'
       for no key update;
    return fenced;
end $$;
