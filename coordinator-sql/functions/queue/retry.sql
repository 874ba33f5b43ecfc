-- Records that an attempt at a job failed. The job is retried after a back-off with full
-- jitter, or discarded after its last attempt.
create or replace function coordinator.retry(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_error text)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- The fifth failure discards the job, because a job that always fails must not prevent the
    -- run from ending. If a store is unreachable, jobs are released instead, which does not
    -- count.
    max_failures constant integer := 5;
    -- The first back-off is up to a sixtieth of the lease time (5 s out of 5 minutes). Each
    -- further back-off doubles.
    backoffs_per_lease constant integer := 60;
    fenced jobs;
    first_backoff_ms integer;
begin
    fenced := coordinator.check_fence(p_job_id, p_lease_number, p_token);
    if fenced.job_id is null then
        return 'lost';
    end if;
    if fenced.attempts + 1 >= max_failures then
        return coordinator.discard(p_job_id, p_lease_number, p_token, p_error);
    end if;
    select greatest(r.lease_ms / backoffs_per_lease, 1) into first_backoff_ms
      from runs r where r.run = fenced.run;
    perform coordinator.free_jobs(
        array[p_job_id], 'pending', p_attempts => fenced.attempts + 1,
        p_not_before => clock_timestamp()
            + first_backoff_ms * power(2, fenced.attempts) * random() * interval '1 ms');
    insert into job_events (job_id, run, event, lease_number, worker_id, message)
    values (p_job_id, fenced.run, 'retry', p_lease_number, fenced.worker_id,
            left(p_error, coordinator.max_message_characters()));
    return 'retry';
end $$;
