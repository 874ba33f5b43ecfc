-- The icon and bundle-shard stages count their jobs before the rows exist, so their expected
-- number is computed from the shards and the discarded warc jobs.
create or replace function coordinator.audit_run(p_run integer)
returns table (kind text, outstanding integer, unfinished integer)
language sql stable security definer set search_path = everytab, pg_temp as $$
    with rows as (
        select j.kind,
               count(*) filter (where j.state in ('completed', 'discarded')) as ended,
               count(*) filter (where j.state in ('pending', 'leased')
                                  and not (j.kind in ('search', 'map', 'publish',
                                                      'crawl-close')
                                           and j.not_before is not distinct from 'infinity'))
                   as unfinished
          from jobs j where j.run = p_run group by j.kind),
    expected as (
        select st.kind, st.outstanding,
               case when st.kind in ('icon', 'bundle-shard') and s.shards is not null
                    then s.shards - coalesce(r.ended, 0) - (
                        select count(*) from jobs w
                         where w.run = p_run and w.kind = 'warc' and w.state = 'discarded'
                           and not exists (select from jobs c where c.run = p_run
                                              and c.kind = st.kind and c.part = w.part
                                              and c.state in ('completed', 'discarded')))
                    else coalesce(r.unfinished, 0) end::integer as unfinished
          from stages st left join scans s on s.scan = st.run left join rows r using (kind)
         where st.run = p_run)
    select e.kind::text, e.outstanding, e.unfinished from expected e
     where e.outstanding <> e.unfinished order by e.kind;
$$;
