-- Ends a job that cannot succeed. It never blocks the rest: discarding warc k counts icon k and
-- bundle-shard k as discarded with it; discarding icon k still enqueues bundle-shard k, which
-- makes tabs without icons. Answers discarded or lost.
create or replace function coordinator.discard(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_error text)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    ended jobs%rowtype;
begin
    select * into ended from jobs
     where job_id = p_job_id and lease_number = p_lease_number and lease_token = p_token
       and state = 'leased' for no key update;
    if not found then
        return 'lost';
    end if;
    update jobs set state = 'discarded', attempts = least(attempts + 1, 32000)::smallint,
           holder = null, lease_token = null, lease_until = null, in_hand = null
     where job_id = p_job_id;
    insert into job_events (job_id, scan, event, lease_number, holder, message)
    values (p_job_id, ended.scan, 'discard', p_lease_number, ended.holder, left(p_error, 1000));
    if ended.kind = 'icon' then
        perform coordinator.enqueue(ended.scan, 'bundle-shard', array[ended.part]);
    end if;
    perform coordinator.count_out(ended.scan, ended.kind, 'discarded', 1);
    if ended.kind = 'warc' then
        perform coordinator.count_out(ended.scan, 'icon', 'discarded', 1);
        perform coordinator.count_out(ended.scan, 'bundle-shard', 'discarded', 1);
    end if;
    return 'discarded';
end $$;
