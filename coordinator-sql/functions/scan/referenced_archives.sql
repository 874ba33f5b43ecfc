-- The name of an archive object contains the shard, the lease number and a part of the lease's
-- token.
create or replace function coordinator.referenced_archives(p_scan integer)
returns table (shard integer, lease_number integer, token uuid)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select j.part, j.lease_number, r.token
      from jobs j
      join job_results r on r.job_id = j.job_id and r.lease_number = j.lease_number
     where j.run = p_scan and j.kind = 'icon' and j.state = 'completed' order by 1;
$$;
