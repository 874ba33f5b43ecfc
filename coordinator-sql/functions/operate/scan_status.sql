-- Other programs read the keys of this object.
create or replace function coordinator.scan_status(p_scan integer)
returns jsonb language sql stable security definer set search_path = everytab, pg_temp as $$
    select jsonb_build_object(
        'scan', s.scan_id, 'crawl', s.crawl, 'state', r.state, 'settings', s.settings,
        'rate', r.rate, 'archive_rate', r.archive_rate,
        'shards', s.shards, 'bundles_per_shard', s.bundles_per_shard,
        'started_at', r.started_at, 'finished_at', r.finished_at, 'now', clock_timestamp(),
        'outstanding', (select sum(st.outstanding) from stages st where st.run = p_scan),
        'stages', (
            select jsonb_agg(jsonb_build_object(
                'kind', st.kind, 'outstanding', st.outstanding, 'done', st.done,
                'discarded', st.discarded, 'paused', st.kind = any (r.paused_kinds),
                'started_at', st.started_at, 'finished_at', st.finished_at,
                'leased', (select count(*) from jobs j where j.run = p_scan
                              and j.kind = st.kind and j.state = 'leased'),
                'delayed', (select count(*) from jobs j where j.run = p_scan
                               and j.kind = st.kind and j.state = 'pending'
                               and j.not_before < 'infinity')) order by st.kind)
              from stages st where st.run = p_scan),
        'outcomes', coalesce((
            select jsonb_object_agg(kind, sections) from (
                select kind, jsonb_object_agg(key, names) as sections from (
                    select o.kind, o.key, jsonb_object_agg(o.name, o.amount) as names
                      from coordinator.run_outcomes(p_scan) o group by 1, 2) by_section
                 group by 1) by_kind), '{}'),
        'workers', coalesce((
            select jsonb_agg(
                       to_jsonb(w) - 'worker_id' || jsonb_build_object('holder', w.worker_id)
                       order by w.worker_id)
              from coordinator.run_workers(p_scan) w), '[]'),
        'careful', coalesce((
            select jsonb_agg(to_jsonb(c)) from (
                select j.job_id, j.kind, j.part, j.state, j.crashes, j.current_item as in_hand,
                       j.not_before,
                       -- The worker that holds the job, or the last one that held it.
                       coalesce(j.worker_id, (
                           select e.worker_id from job_events e
                            where e.job_id = j.job_id and e.worker_id is not null
                            order by e.lease_number desc limit 1)) as holder
                  from jobs j where j.run = p_scan and j.state in ('pending', 'leased')
                   and coordinator.uses_isolation(j.crashes)
                 -- Limit isolated_jobs = 10: a person does not read more.
                 order by j.crashes desc, j.job_id limit 10) c), '[]'),
        'errors', coalesce((
            select jsonb_agg(to_jsonb(e)) from (
                select ev.at, ev.event, j.kind, j.part, j.job_id, ev.worker_id as holder,
                       ev.message
                  from job_events ev join jobs j using (job_id)
                 where ev.run = p_scan and ev.event in ('retry', 'discard', 'expired', 'release')
                 -- Limit errors = 10: a person reads the newest; `scan history` shows all for a
                 -- job.
                 order by ev.at desc limit 10) e), '[]'),
        -- The stores, resolvers and databases for which jobs were released. An entry ends when
        -- a job of the same kind completes that was leased after the release, because an
        -- earlier one may already have read all its input. For a resolver, this job must be
        -- from the same worker.
        'troubles', coalesce((
            select jsonb_agg(to_jsonb(t) order by t.at desc) from (
                select distinct on (j.kind) ev.at, j.kind, ev.worker_id as holder, ev.message
                  from job_events ev join jobs j using (job_id)
                 where ev.run = p_scan and ev.event = 'release'
                   and ev.message like 'waiting for the %'
                   and r.state in ('running', 'paused')
                   and not exists (
                       select from job_results done
                        where done.run = p_scan and done.kind = j.kind and done.leased_at > ev.at
                          and (ev.message not like 'waiting for the resolver%'
                               or done.worker_id = ev.worker_id))
                   and exists (
                       select from stages st
                        where st.run = p_scan and st.kind = j.kind and st.outstanding > 0)
                 order by j.kind, ev.at desc) t), '[]'),
        'events', coalesce((
            select jsonb_object_agg(event, amount) from (
                select ev.event, count(*) as amount from job_events ev
                 where ev.run = p_scan group by 1) counted), '{}'),
        'drift', coalesce((
            select jsonb_agg(to_jsonb(a)) from coordinator.audit_run(p_scan) a), '[]'))
      from scans s join runs r on r.run = s.scan where s.scan = p_scan;
$$;
