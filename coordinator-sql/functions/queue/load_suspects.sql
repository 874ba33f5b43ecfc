-- Poison-item isolation: returns the items that were current when a worker died. Only deaths in
-- the job's crash count are included, so a job that was reopened starts without suspects.
create or replace function coordinator.load_suspects(p_job_id bigint)
returns table (item bigint, deaths integer)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select death.item, count(*)::integer
      from (select e.item from job_events e
             where e.job_id = p_job_id and e.event = 'expired'
             order by e.lease_number desc
             limit (select j.crashes from jobs j where j.job_id = p_job_id)) death
     where death.item is not null
     group by 1 order by 1;
$$;
