-- Reopens discarded jobs of a scan: all, of one kind, or one job; with p_outcome, the icon jobs of
-- the shards that hold an icon of that outcome, discarded or not. Answers how many were reopened;
-- none of a cancelled scan. The lock keeps jobs from ending while what they feed is rearranged; it
-- waits for the short transactions that run and is held for about a second at most.
create or replace function coordinator.retry_jobs(
    p_scan integer, p_kind text, p_job_id bigint, p_outcome text)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    chosen bigint[];
begin
    lock table jobs in exclusive mode;
    perform 1 from scans s where s.scan = p_scan and s.state <> 'cancelled';
    if not found then
        return 0;
    end if;
    select array_agg(j.job_id) into chosen from jobs j
     where j.scan = p_scan and (p_job_id is null or j.job_id = p_job_id)
       and (p_kind is null or j.kind = p_kind::job_kind)
       and case when p_outcome is null then j.state = 'discarded'
                else j.kind = 'icon' and j.state in ('completed', 'discarded') and exists (
                    select from icons i where i.scan = p_scan and i.shard = j.part
                       and i.lease_number = j.lease_number and i.outcome = p_outcome) end;
    return coordinator.reopen(p_scan, coalesce(chosen, '{}'), 'scan retry');
end $$;
