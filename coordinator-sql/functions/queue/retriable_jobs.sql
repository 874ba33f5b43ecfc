-- Returns a run's ended jobs that a retry reopens, with their newest lease: the discarded ones,
-- with one kind or one job if given. With p_outcome, the icon jobs for shards that hold an icon
-- with this outcome, whether they completed or were discarded. For the kinds map and publish
-- this includes completed ones: a tile or a manifest that was damaged since then is not a
-- failed job, and drawing a scan's map again takes two CPU minutes. This reads without a lock,
-- because reading all of a scan's icons takes long.
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
