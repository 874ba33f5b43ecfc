-- Drift between the counters and the rows, one line a stage that disagrees; none when all is well.
create or replace function coordinator.audit_scan(p_scan integer)
returns table (kind text, outstanding integer, unfinished integer)
language sql stable security definer set search_path = everytab, pg_temp as $$
    with rows as (
        select j.kind,
               count(*) filter (where j.state in ('completed', 'discarded')) as ended,
               count(*) filter (where j.state in ('pending', 'leased')
                                  and not (j.kind in ('search', 'publish')
                                           and j.not_before is not distinct from 'infinity'))
                   as unfinished,
               count(*) as known
          from jobs j where j.scan = p_scan group by j.kind),
    expected as (
        select st.kind, st.outstanding,
               case when st.kind in ('icon', 'bundle-shard') and s.shards is not null
                    then s.shards - coalesce(r.ended, 0) - (
                        select count(*) from jobs w
                         where w.scan = p_scan and w.kind = 'warc' and w.state = 'discarded'
                           and not exists (select from jobs c where c.scan = p_scan
                                              and c.kind = st.kind and c.part = w.part
                                              and c.state in ('completed', 'discarded')))
                    else coalesce(r.unfinished, 0) end::integer as unfinished
          from stages st join scans s using (scan) left join rows r using (kind)
         where st.scan = p_scan)
    select e.kind::text, e.outstanding, e.unfinished from expected e
     where e.outstanding <> e.unfinished order by e.kind;
$$;
