-- Rows are locked in job id order, so that calls cannot deadlock.
create or replace function coordinator.renew(
    p_worker_id text, p_job_ids bigint[], p_lease_numbers integer[], p_tokens uuid[])
returns table (job_id bigint, live_workers integer, rate integer, archive_rate integer)
language plpgsql security definer set search_path = everytab, pg_temp
set plan_cache_mode = force_generic_plan
-- Limit lock_timeout = 30s: maximum wait for a lock in this function, independent of the
-- caller's setting.
set lock_timeout = '30s' as $$
#variable_conflict use_column
declare
    workers integer;
begin
    select count(distinct j.worker_id)::integer into workers from jobs j where j.state = 'leased';
    return query
    with mine as materialized (
        select l.job_id, r.lease_ms, r.rate, r.archive_rate,
               l.leased_at + coordinator.deadline(
                   l.kind, l.crashes, r.deadline_ms, r.rate, r.archive_rate) as latest
          from jobs l
          join unnest(p_job_ids, p_lease_numbers, p_tokens) as shown (job_id, lease_number, token)
            on l.lease_number = shown.lease_number and l.lease_token = shown.token
           and l.job_id = shown.job_id
          join runs r on r.run = l.run and r.state in ('running', 'paused')
         where l.job_id = any (p_job_ids) and l.state = 'leased' and l.worker_id = p_worker_id
         order by l.job_id for no key update of l)
    update jobs j
       set lease_until = least(mine.latest, clock_timestamp() + mine.lease_ms * interval '1 ms')
      from mine
     where j.job_id = mine.job_id and j.job_id = any (p_job_ids)
       and mine.latest > clock_timestamp()
    returning j.job_id, greatest(workers, 1), mine.rate, mine.archive_rate;
end $$;
