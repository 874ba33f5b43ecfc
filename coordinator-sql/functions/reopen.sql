-- Makes an ended job pending again and sets what it feeds to wait for it, counters included.
-- False: the job is not ended.
create or replace function coordinator.reopen(p_job_id bigint, p_reason text)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    ended jobs%rowtype;
    shard integer;
begin
    select * into ended from jobs
     where job_id = p_job_id and state in ('completed', 'discarded') for no key update;
    if not found then
        return false;
    end if;
    update jobs set state = 'pending', not_before = null, attempts = 0, crashes = 0
     where job_id = p_job_id;
    insert into job_events (job_id, scan, event, lease_number, message)
    values (p_job_id, ended.scan, 'reopened', ended.lease_number, left(p_reason, 1000));
    update stages
       set outstanding = outstanding + 1, finished_at = null,
           done = done - (ended.state = 'completed')::integer,
           discarded = discarded - (ended.state = 'discarded')::integer
     where scan = ended.scan and kind = ended.kind;
    if ended.kind = 'index' then
        for shard in select generate_series(0, s.shards - 1) from scans s where s.scan = ended.scan
        loop
            perform coordinator.withhold(ended.scan, 'warc', shard);
            perform coordinator.withhold(ended.scan, 'icon', shard);
            perform coordinator.withhold(ended.scan, 'bundle-shard', shard);
        end loop;
    elsif ended.kind = 'warc' then
        perform coordinator.withhold(ended.scan, 'icon', ended.part);
        perform coordinator.withhold(ended.scan, 'bundle-shard', ended.part);
    elsif ended.kind = 'icon' then
        perform coordinator.withhold(ended.scan, 'bundle-shard', ended.part);
    end if;
    perform coordinator.withhold_closing(ended.scan, ended.kind);
    update scans set state = 'running', finished_at = null
     where scan = ended.scan and state in ('finished', 'finished_with_discards');
    return true;
end $$;
