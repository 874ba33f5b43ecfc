create or replace function coordinator.job_history(p_job_id bigint)
returns table (at timestamptz, event text, lease_number integer, worker_id text, message text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select e.at, e.event, e.lease_number, e.worker_id, e.message
      from job_events e where e.job_id = p_job_id
    union all
    select r.ended_at, 'completed', r.lease_number, r.worker_id, r.stats::text
      from job_results r where r.job_id = p_job_id
     order by 1;
$$;
