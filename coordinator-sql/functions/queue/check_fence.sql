-- The fence. Locks a job's row and returns it while (job id, lease number, token) is the job's
-- current lease; returns a row with nulls if the lease is lost. The row lock keeps the sweep
-- and every other writer away from the job until the transaction ends.
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
