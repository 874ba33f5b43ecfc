-- Reopens discarded jobs of a run: all, of one kind, or one job. With p_outcome, reopens the icon
-- jobs of the shards that hold an icon of that outcome, whether they completed or were discarded.
-- Of the kind map reopens the completed ones too: a tile that was damaged since then is no job's
-- failure, and the map of a scan is drawn again within two minutes of one processor.
-- Returns how many were reopened; none of a cancelled run. The lock keeps jobs from ending while
-- the jobs that read their output are rearranged; it waits for short transactions only, and is
-- held for about a second at most.
create or replace function coordinator.retry_jobs(
    p_run integer, p_kind text, p_job_id bigint, p_outcome text)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    chosen bigint[];
begin
    lock table jobs in exclusive mode;
    perform 1 from runs r where r.run = p_run and r.state <> 'cancelled';
    if not found then
        return 0;
    end if;
    select array_agg(j.job_id) into chosen from jobs j
     where j.run = p_run and (p_job_id is null or j.job_id = p_job_id)
       and (p_kind is null or j.kind = p_kind::job_kind)
       and case when p_outcome is null
                then j.state = 'discarded' or (p_kind = 'map' and j.state = 'completed')
                else j.kind = 'icon' and j.state in ('completed', 'discarded') and exists (
                    select from icons i where i.scan = p_run and i.shard = j.part
                       and i.lease_number = j.lease_number and i.outcome = p_outcome) end;
    return coordinator.reopen(p_run, coalesce(chosen, '{}'), 'scan retry');
end $$;
