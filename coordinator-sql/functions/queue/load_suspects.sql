-- Poison-item isolation: returns a job's suspect items, which were the current item when a
-- worker died, and how often this happened. Only deaths that are included in the job's crash
-- count are counted: a job that was reopened starts without suspects.
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
