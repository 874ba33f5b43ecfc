-- Leases up to p_wanted ready jobs, first from the oldest run, and in each run from the
-- furthest stage. Raises an error for kinds that the caller's role may not lease. p_digests is
-- an object like {"encoder": "..."} that identifies the worker's code. Kinds that need another
-- digest than the worker has are skipped.
--
-- p_cursors contains one cursor per kind: the job id at which the worker's last call found a
-- job. The index scan then skips dead tuples of ended jobs that vacuum cannot remove yet (an
-- incremental scan). A cursor of 0 requests a full scan, which reads from the start, finds
-- returned jobs, and sweeps first.
create or replace function coordinator.lease(
    p_worker_id text, p_kinds text[], p_wanted integer, p_digests jsonb, p_cursors bigint[])
returns table (
    job_id bigint, run integer, scan_id uuid, kind text, part integer, lease_number integer,
    lease_token uuid, lease_ms integer, attempts integer, crashes integer, uses_isolation boolean,
    rate integer, archive_rate integer)
language plpgsql security definer set search_path = everytab, pg_temp
set plan_cache_mode = force_generic_plan
-- Limit lock_timeout = 30s: maximum wait for a lock in this function, independent of the
-- caller's setting.
set lock_timeout = '30s' as $$
#variable_conflict use_column
declare
    -- Below every job's priority, so that a full scan starts at the beginning of the index.
    lowest_priority constant smallint := -32768;
    -- A job's priority if no operator has changed it. An incremental scan starts here.
    usual_priority constant smallint := 0;
    -- Maximum expired leases that one call frees. If all workers died, the fleet recovers
    -- within a few calls, and each call still takes milliseconds.
    max_swept constant integer := 50;
    -- A worker requests one job per call, and a stolen token must not be able to take a whole
    -- stage in one call.
    max_leases constant integer := 32;
    target record;
    wanted integer := least(p_wanted, max_leases);
    taken integer;
begin
    perform coordinator.check_kinds(p_kinds::job_kind[]);
    if 0 = any (p_cursors) then
        perform coordinator.sweep(max_swept);
    end if;
    for target in
        select r.run, coalesce(s.scan_id, c.id) as scan_id, r.lease_ms, r.rate, r.archive_rate,
               asked.kind, asked.cursor,
               case asked.cursor when 0 then lowest_priority else usual_priority end as priority
          from runs r
          left join scans s on s.scan = r.run
          left join crawls c on c.run = r.run
         cross join unnest(p_kinds::job_kind[], p_cursors) as asked (kind, cursor)
         where r.state = 'running' and asked.kind <> all (r.paused_kinds)
           and (r.digests <@ p_digests
                or asked.kind <> all (coordinator.withheld_kinds(r.digests, p_digests)))
         order by r.run, asked.kind desc
    loop
        exit when wanted <= 0;
        -- The update selects jobs by an array, because with a join the planner does not know
        -- the limit and would scan all jobs.
        return query
        with ready as materialized (
            select r.job_id from jobs r
             where r.run = target.run and r.kind = target.kind
               and r.state = 'pending' and r.not_before is null
               and (r.priority, r.job_id) >= (target.priority, target.cursor)
             order by r.priority, r.job_id
             limit wanted
               for no key update skip locked)
        update jobs j
           set state = 'leased', lease_number = j.lease_number + 1,
               lease_token = gen_random_uuid(), worker_id = p_worker_id, chunks = 0,
               leased_at = clock_timestamp(),
               lease_until = clock_timestamp() + target.lease_ms * interval '1 ms'
         where j.job_id = any (array(select ready.job_id from ready))
           and j.state = 'pending' and j.not_before is null
        returning j.job_id, j.run, target.scan_id, j.kind::text, j.part, j.lease_number,
                  j.lease_token, target.lease_ms, j.attempts::integer, j.crashes::integer,
                  coordinator.uses_isolation(j.crashes), target.rate,
                  target.archive_rate;
        get diagnostics taken = row_count;
        wanted := wanted - taken;
        if taken > 0 and target.cursor = 0 then
            -- This must not wait for a lock. If another transaction has locked the stage's row,
            -- the next full scan sets the time.
            update stages st set started_at = clock_timestamp()
              from (select f.run, f.kind from stages f
                     where f.run = target.run and f.kind = target.kind and f.started_at is null
                       for no key update skip locked) fresh
             where st.run = fresh.run and st.kind = fresh.kind;
        end if;
    end loop;
end $$;
