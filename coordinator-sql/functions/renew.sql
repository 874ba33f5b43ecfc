-- Extends the leases of one holder in one call and answers those that it still holds, with the
-- number of live workers (holders of any lease) and the scan's rate, which its politeness needs.
create or replace function coordinator.renew(
    p_holder text, p_job_ids bigint[], p_lease_numbers integer[], p_tokens uuid[])
returns table (job_id bigint, live_workers integer, rate integer)
language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    workers integer;
begin
    select count(distinct j.holder)::integer into workers from jobs j where j.state = 'leased';
    return query
    update jobs j
       set lease_until = clock_timestamp() + s.lease_ms * interval '1 ms'
      from unnest(p_job_ids, p_lease_numbers, p_tokens) as mine (job_id, lease_number, token),
           scans s
     where j.job_id = mine.job_id and j.lease_number = mine.lease_number
       and j.lease_token = mine.token and j.state = 'leased' and j.holder = p_holder
       and s.scan = j.scan and s.state in ('running', 'paused')
    returning j.job_id, greatest(workers, 1), s.rate;
end $$;
