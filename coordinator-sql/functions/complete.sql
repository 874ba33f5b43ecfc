-- Completes a job: fence first, the result, the job that follows, counters last and then, where a
-- counter reached zero, the fan-out in a new statement. Answers recorded, already_recorded (the
-- reply of an earlier call was lost) or lost. The caller records its rows by the record functions
-- in the same transaction, before this call.
create or replace function coordinator.complete(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_stats jsonb)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    done jobs%rowtype;
    next_kind job_kind;
begin
    select * into done from jobs
     where job_id = p_job_id and lease_number = p_lease_number and lease_token = p_token
       and state = 'leased' for no key update;
    if not found then
        perform 1 from job_results r
          where r.job_id = p_job_id and r.lease_number = p_lease_number and r.token = p_token;
        return case when found then 'already_recorded' else 'lost' end;
    end if;
    update jobs set state = 'completed', holder = null, lease_token = null, lease_until = null
     where job_id = p_job_id;
    insert into job_results (job_id, scan, lease_number, kind, part, holder, leased_at, token,
                             stats)
    values (p_job_id, done.scan, p_lease_number, done.kind, done.part, done.holder,
            done.leased_at, p_token, p_stats);
    next_kind := case done.kind when 'warc' then 'icon' when 'icon' then 'bundle-shard' end;
    if next_kind is not null then
        perform coordinator.enqueue(done.scan, next_kind, done.part);
    end if;
    perform coordinator.count_out(done.scan, done.kind, 'done');
    return 'recorded';
end $$;
