-- Jobs, items (a job's inputs), items per second and errors cover the last minutes.
create or replace function coordinator.run_workers(p_run integer)
returns table (
    worker_id text, leases integer, kinds text[], oldest_lease timestamptz, jobs integer,
    items bigint, items_per_second double precision, errors integer, last_error text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    -- Limit recent = 5 minutes: this covers a few jobs, but soon shows that a worker has
    -- stopped.
    with recent as (select clock_timestamp() - interval '5 minutes' as since),
    leased as (
        select j.worker_id, count(*)::integer as leases,
               array_agg(distinct j.kind order by j.kind)::text[] as kinds,
               min(j.leased_at) as oldest_lease
          from jobs j where j.run = p_run and j.state = 'leased' group by 1),
    done as (
        select r.worker_id, count(*)::integer as jobs,
               sum((select sum(i.value::bigint)
                      from jsonb_each_text(r.stats -> 'inputs') i))::bigint as items,
               greatest(min(r.leased_at), (select since from recent)) as since
          from job_results r
         where r.run = p_run and r.ended_at > (select since from recent) group by 1),
    failed as (
        select e.worker_id, count(*)::integer as errors,
               (array_agg(e.message order by e.at desc))[1] as last_error
          from job_events e
         where e.run = p_run and e.at > (select since from recent) and e.worker_id is not null
           and e.event in ('retry', 'discard', 'expired', 'release')
         group by 1)
    select worker_id, coalesce(leased.leases, 0), coalesce(leased.kinds, '{}'),
           leased.oldest_lease, coalesce(done.jobs, 0), coalesce(done.items, 0),
           coalesce(done.items, 0)
               / greatest(1, extract(epoch from clock_timestamp() - done.since)::float8),
           coalesce(failed.errors, 0), failed.last_error
      from leased full join done using (worker_id) full join failed using (worker_id)
     order by 1;
$$;
