-- The baseline is the last scan that started before this one and completed its publish job, if
-- possible one with the same site.
create or replace function coordinator.earlier_outcomes(p_scan integer)
returns jsonb language sql stable security definer set search_path = everytab, pg_temp as $$
    select jsonb_build_object('scan', before.scan_id, 'outcomes', coalesce((
               select jsonb_object_agg(by_stage.kind, by_stage.names) from (
                   select o.kind, jsonb_object_agg(o.name, o.amount) as names
                     from coordinator.run_outcomes(before.scan) o
                    where o.key = 'outcomes' group by o.kind) by_stage), '{}'))
      from (select e.scan, e.scan_id
              from scans s
              join runs own on own.run = s.scan
              join runs r on r.started_at < own.started_at
               and r.state in ('finished', 'finished_with_discards')
               and exists (select from jobs p where p.run = r.run and p.kind = 'publish'
                                                and p.state = 'completed')
              join scans e on e.scan = r.run
             where s.scan = p_scan
             order by e.settings ->> 'site' = s.settings ->> 'site' desc, r.started_at desc
             limit 1) before;
$$;
