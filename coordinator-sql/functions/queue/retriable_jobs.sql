-- Returns the jobs that a retry of a run reopens. With p_outcome, these are the icon jobs whose
-- shards contain an icon with this outcome. If p_kind is map or publish, completed jobs are
-- included: a tile or a manifest may be damaged later, when no job has failed. This takes no
-- lock, because reading all of a scan's icons takes long.
create or replace function coordinator.retriable_jobs(
    p_run integer, p_kind text, p_job_id bigint, p_outcome text)
returns table (job_id bigint, lease_number integer)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select j.job_id, j.lease_number from jobs j
     where j.run = p_run and (p_job_id is null or j.job_id = p_job_id)
       and (p_kind is null or j.kind = p_kind::job_kind)
       and case when p_outcome is null
                then j.state = 'discarded'
                     or (p_kind in ('map', 'publish') and j.state = 'completed')
                else j.kind = 'icon' and j.state in ('completed', 'discarded') and exists (
                    select from icons i where i.scan = p_run and i.shard = j.part
                       and i.lease_number = j.lease_number and i.outcome = p_outcome) end
     order by j.kind, j.job_id;
$$;
