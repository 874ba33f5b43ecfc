-- The exclusions are committed before this call, so jobs that read their input later skip these
-- hosts. All workers are blocked during the call, so the caller should pass at most a few
-- hundred shards. Raises ET011 if the jobs remain locked by another session.
create or replace function coordinator.rebundle_shards(p_scan integer, p_shards integer[])
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    written bigint[];
    under_way bigint[];
begin
    perform coordinator.lock_tables(array['jobs'], 'exclusive');
    perform 1 from runs r where r.run = p_scan and r.state in ('running', 'paused');
    if not found then
        return 0;
    end if;
    select array_agg(j.job_id) filter (where j.state = 'completed'),
           array_agg(j.job_id) filter (where j.state = 'leased')
      into written, under_way from jobs j
     where j.run = p_scan and j.kind = 'bundle-shard' and j.part = any (p_shards);
    insert into job_events (job_id, run, event, lease_number, worker_id, message)
    select j.job_id, p_scan, 'revoked', j.lease_number + 1, j.worker_id, 'scan exclude'
      from jobs j where j.job_id = any (under_way);
    perform coordinator.free_jobs(under_way, 'pending', p_revoked => true);
    return coordinator.reopen(p_scan, coalesce(written, '{}'), 'scan exclude')
        + coalesce(cardinality(under_way), 0);
end $$;
