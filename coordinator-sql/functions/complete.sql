-- Completes jobs: fence first, the results, the jobs that follow, counters last and then, where a
-- counter reached zero, the fan-out in a new statement. Answers a word a job, in their order:
-- recorded, already_recorded (the reply of an earlier call was lost) or lost. The caller records
-- the rows of a job by the record functions in the same transaction, before this call.
create or replace function coordinator.complete(
    p_job_ids bigint[], p_lease_numbers integer[], p_tokens uuid[], p_stats jsonb[])
returns text[] language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    done bigint[];
    tokens uuid[];
    ended record;
    words text[];
begin
    with held as materialized (
        -- Lateral: one look by job_id each, in one order, whatever the planner believes of arrays.
        select j.*, shown.stats
          from (select * from unnest(p_job_ids, p_lease_numbers, p_tokens, p_stats)
                           as u (job_id, lease_number, token, stats) order by u.job_id) shown
         cross join lateral (
               select l.* from jobs l
                where l.job_id = shown.job_id and l.lease_number = shown.lease_number
                  and l.lease_token = shown.token and l.state = 'leased'
                  for no key update) j),
    ended as (
        update jobs j set state = 'completed', holder = null, lease_token = null,
               lease_until = null, in_hand = null
         where j.job_id = any (array(select h.job_id from held h))),
    results as (
        insert into job_results (job_id, scan, lease_number, kind, part, holder, leased_at, token,
                                 stats)
        select h.job_id, h.scan, h.lease_number, h.kind, h.part, h.holder, h.leased_at,
               h.lease_token, h.stats
          from held h)
    select array_agg(h.job_id), array_agg(h.lease_token) into done, tokens from held h;

    words := array(
        select case when (shown.job_id, shown.token) in (select * from unnest(done, tokens))
                        then 'recorded'
                    when exists (select from job_results r where r.job_id = shown.job_id
                                    and r.lease_number = shown.lease_number
                                    and r.token = shown.token) then 'already_recorded'
                    else 'lost' end
          from unnest(p_job_ids, p_lease_numbers, p_tokens) with ordinality
                   as shown (job_id, lease_number, token, place)
         order by shown.place);
    if done is null then
        return words;
    end if;

    for ended in
        select j.scan, j.kind, array_agg(j.part order by j.part) as parts
          from jobs j where j.job_id = any (done) group by 1, 2 order by 1, 2
    loop
        if ended.kind in ('warc', 'icon') then
            perform coordinator.enqueue(
                ended.scan,
                case ended.kind when 'warc' then 'icon' else 'bundle-shard' end::job_kind,
                ended.parts);
        end if;
        perform coordinator.count_out(ended.scan, ended.kind, 'done', cardinality(ended.parts));
    end loop;
    return words;
end $$;
