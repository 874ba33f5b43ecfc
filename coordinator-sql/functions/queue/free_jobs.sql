-- Only this function clears a lease's columns, so that no other function forgets one. The
-- caller has locked the rows. Null arguments keep the current values. p_revoked revokes leases
-- that workers still hold: raising the lease number and removing the token both fence off such
-- a worker.
--
-- This has no `set search_path`, and every name is qualified, because each completion calls
-- this function.
create or replace function coordinator.free_jobs(
    p_job_ids bigint[], p_state everytab.job_state, p_not_before timestamptz default null,
    p_attempts integer default null, p_crashes integer default null,
    p_revoked boolean default false)
returns void language plpgsql as $$
begin
    update everytab.jobs j
       set state = p_state, not_before = p_not_before,
           worker_id = null, lease_token = null, lease_until = null, current_item = null,
           attempts = coalesce(p_attempts, j.attempts), crashes = coalesce(p_crashes, j.crashes),
           lease_number = j.lease_number + (p_revoked and j.state = 'leased')::integer
     where j.job_id = any (p_job_ids);
end $$;
