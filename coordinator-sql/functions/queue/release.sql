-- The attempt does not count, because the worker is stopping or cannot perform this job now.
create or replace function coordinator.release(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_reason text)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    fenced jobs;
begin
    fenced := coordinator.check_fence(p_job_id, p_lease_number, p_token);
    if fenced.job_id is null then
        return 'lost';
    end if;
    perform coordinator.free_jobs(array[p_job_id], 'pending');
    insert into job_events (job_id, run, event, lease_number, worker_id, message)
    values (p_job_id, fenced.run, 'release', p_lease_number, fenced.worker_id,
            left(p_reason, coordinator.max_message_characters()));
    return 'released';
end $$;
