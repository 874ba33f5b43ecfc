-- Takes the tabs of excluded hosts and domains out of bundles that are written already: the
-- bundle-shard jobs that had loaded such a host are performed again, and the closing stages after
-- them. The exclusions are committed before this is called, so a job that loads later leaves the
-- hosts out by itself. The pages are read before the jobs are locked, for that takes long. Returns
-- how many jobs are performed again.
create or replace function coordinator.rebundle_excluded(
    p_scan integer, p_kinds text[], p_patterns text[])
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    names text[];
    tails text[];
    shards integer[];
    written bigint[];
    under_way bigint[];
begin
    select array_agg(g.pattern),
           array_agg('%.' || replace(g.pattern, '_', '\_')) filter (where g.kind = 'suffix')
      into names, tails
      from unnest(p_kinds, p_patterns) as g (kind, pattern)
     where g.kind in ('hostname', 'suffix');
    select array_agg(distinct p.shard) into shards from pages p
     where p.scan = p_scan
       and (p.hostname = any (names) or p.hostname like any (coalesce(tails, '{}')));
    if shards is null then
        return 0;
    end if;
    lock table jobs in exclusive mode;
    perform 1 from runs r where r.run = p_scan and r.state in ('running', 'paused');
    if not found then
        return 0;
    end if;
    select array_agg(j.job_id) filter (where j.state = 'completed'),
           array_agg(j.job_id) filter (where j.state = 'leased')
      into written, under_way from jobs j
     where j.run = p_scan and j.kind = 'bundle-shard' and j.part = any (shards);
    insert into job_events (job_id, run, event, lease_number, worker_id, message)
    select j.job_id, p_scan, 'revoked', j.lease_number + 1, j.worker_id, 'scan exclude'
      from jobs j where j.job_id = any (under_way);
    perform coordinator.free_jobs(under_way, 'pending', p_revoked => true);
    return coordinator.reopen(p_scan, coalesce(written, '{}'), 'scan exclude')
        + coalesce(cardinality(under_way), 0);
end $$;
