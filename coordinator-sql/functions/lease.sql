-- Leases up to p_wanted ready jobs of the given kinds, furthest stage first. p_encoder is the
-- digest of the worker's icon encoder: bundle-shard jobs of a scan that fixed another are passed
-- over. p_hints, one a kind, are the lowest job ids worth looking at, so that a walk of the index
-- stays short while old row versions cannot be removed. A hint of 0 asks for a full look: from the
-- beginning, where returned jobs are, and after a sweep. Ask so when a short look found nothing,
-- and from time to time.
create or replace function coordinator.lease(
    p_holder text, p_kinds text[], p_wanted integer, p_encoder text, p_hints bigint[])
returns table (
    job_id bigint, scan integer, scan_id uuid, kind text, part integer, lease_number integer,
    lease_token uuid, lease_ms integer, attempts integer, crashes integer, careful boolean,
    rate integer)
language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    target record;
    wanted integer := p_wanted;
    taken integer;
begin
    if 0 = any (p_hints) then
        perform coordinator.sweep(50);
    end if;
    for target in
        select s.scan, s.scan_id, s.lease_ms, s.rate, asked.kind, asked.hint,
               case asked.hint when 0 then -32768 else 0 end::smallint as priority
          from scans s, unnest(p_kinds::job_kind[], p_hints) as asked (kind, hint)
         where s.state = 'running' and asked.kind <> all (s.paused_kinds)
           and (asked.kind <> 'bundle-shard' or s.encoder = p_encoder)
         order by s.scan, asked.kind desc
    loop
        exit when wanted <= 0;
        -- An array, not a join: the plan for any limit would join by a scan of all jobs.
        return query
        with ready as materialized (
            select r.job_id from jobs r
             where r.scan = target.scan and r.kind = target.kind
               and r.state = 'pending' and r.not_before is null
               and (r.priority, r.job_id) >= (target.priority, target.hint)
             order by r.priority, r.job_id
             limit wanted
               for no key update skip locked)
        update jobs j
           set state = 'leased', lease_number = j.lease_number + 1,
               lease_token = gen_random_uuid(), holder = p_holder, chunks = 0,
               leased_at = clock_timestamp(),
               lease_until = clock_timestamp() + target.lease_ms * interval '1 ms'
         where j.job_id = any (array(select ready.job_id from ready))
           and j.state = 'pending' and j.not_before is null
        returning j.job_id, j.scan, target.scan_id, j.kind::text, j.part, j.lease_number,
                  j.lease_token, target.lease_ms, j.attempts::integer, j.crashes::integer,
                  coordinator.is_careful(j.crashes), target.rate;
        get diagnostics taken = row_count;
        wanted := wanted - taken;
        if taken > 0 and target.hint = 0 then
            -- Leasing waits for nobody: while another holds the stage's row, the next full look
            -- sees to it.
            update stages st set started_at = clock_timestamp()
              from (select f.scan, f.kind from stages f
                     where f.scan = target.scan and f.kind = target.kind and f.started_at is null
                       for no key update skip locked) fresh
             where st.scan = fresh.scan and st.kind = fresh.kind;
        end if;
    end loop;
end $$;
