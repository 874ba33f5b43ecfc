-- The counters are last, because every other completion waits for their rows. Returns one
-- result per job, in the arguments' order. The caller has recorded the jobs' rows before, in
-- the same transaction.
create or replace function coordinator.complete(
    p_job_ids bigint[], p_lease_numbers integer[], p_tokens uuid[], p_stats jsonb[])
returns text[] language plpgsql security definer set search_path = everytab, pg_temp
set plan_cache_mode = force_generic_plan as $$
declare
    done bigint[];
    tokens uuid[];
    runs integer[];
    kinds job_kind[];
    parts integer[];
    counts jsonb[];
    stage record;
    results text[];
begin
    with fenced as materialized (
        -- The lateral join locks one row at a time, ordered by job id, so that two calls that
        -- share jobs cannot deadlock. It also prevents the planner from choosing a scan over
        -- all jobs.
        select j.*, shown.stats
          from (select * from unnest(p_job_ids, p_lease_numbers, p_tokens, p_stats)
                           as u (job_id, lease_number, token, stats) order by u.job_id) shown
         cross join lateral (
               select l.* from jobs l
                where l.job_id = shown.job_id and l.lease_number = shown.lease_number
                  and l.lease_token = shown.token and l.state = 'leased'
                  for no key update) j),
    recorded as (
        insert into job_results (job_id, run, lease_number, kind, part, worker_id, leased_at,
                                 token, stats)
        select f.job_id, f.run, f.lease_number, f.kind, f.part, f.worker_id, f.leased_at,
               f.lease_token, f.stats
          from fenced f)
    select array_agg(f.job_id), array_agg(f.lease_token), array_agg(f.run), array_agg(f.kind),
           array_agg(f.part), array_agg(f.stats)
      into done, tokens, runs, kinds, parts, counts from fenced f;
    perform coordinator.check_stats(counted.kind, counted.stats)
       from unnest(kinds, counts) as counted (kind, stats);

    results := array(
        select case when (shown.job_id, shown.token) in (select * from unnest(done, tokens))
                        then 'recorded'
                    when exists (select from job_results r where r.job_id = shown.job_id
                                    and r.lease_number = shown.lease_number
                                    and r.token = shown.token) then 'already_recorded'
                    else 'lost' end
          from unnest(p_job_ids, p_lease_numbers, p_tokens) with ordinality
                   as shown (job_id, lease_number, token, position)
         order by shown.position);
    if done is null then
        return results;
    end if;
    perform coordinator.free_jobs(done, 'completed');

    for stage in
        select e.run, e.kind, array_agg(e.part order by e.part) as parts
          from unnest(runs, kinds, parts) as e (run, kind, part) group by 1, 2 order by 1, 2
    loop
        if stage.kind in ('warc', 'icon') then
            perform coordinator.enqueue(
                stage.run,
                case stage.kind when 'warc' then 'icon' else 'bundle-shard' end::job_kind,
                stage.parts);
        end if;
        perform coordinator.decrement_outstanding(
            stage.run, stage.kind, 'completed', cardinality(stage.parts));
    end loop;
    return results;
end $$;
