-- The archive objects that rows of a scan refer to: one (shard, lease number) for each completed
-- icon job.
create or replace function coordinator.referenced_archives(p_scan integer)
returns table (shard integer, lease_number integer)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select j.part, j.lease_number from jobs j
     where j.run = p_scan and j.kind = 'icon' and j.state = 'completed' order by 1;
$$;
