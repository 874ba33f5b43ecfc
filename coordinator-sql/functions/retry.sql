-- A run failed for a reason of ours: the job is tried again after a back-off with full jitter, or
-- discarded at its fifth failure. Answers retry, discarded or lost.
create or replace function coordinator.retry(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_error text)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    failed jobs%rowtype;
    base_ms integer;
begin
    select * into failed from jobs
     where job_id = p_job_id and lease_number = p_lease_number and lease_token = p_token
       and state = 'leased' for no key update;
    if not found then
        return 'lost';
    end if;
    if failed.attempts >= 4 then
        perform coordinator.discard(p_job_id, p_lease_number, p_token, p_error);
        return 'discarded';
    end if;
    select s.lease_ms / 60 into base_ms from scans s where s.scan = failed.scan;
    update jobs
       set state = 'pending', attempts = attempts + 1,
           holder = null, lease_token = null, lease_until = null, in_hand = null,
           not_before = clock_timestamp()
               + greatest(base_ms, 1) * power(2, attempts) * random() * interval '1 ms'
     where job_id = p_job_id;
    insert into job_events (job_id, scan, event, lease_number, holder, message)
    values (p_job_id, failed.scan, 'retry', p_lease_number, failed.holder, left(p_error, 1000));
    return 'retry';
end $$;
