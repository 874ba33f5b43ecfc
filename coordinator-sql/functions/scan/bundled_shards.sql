-- Returns the shards whose bundles are written, in ascending order: the input for search, map
-- and publish jobs. If a job is discarded when it is performed again, the bundles and parts
-- from its last completed lease remain, and the site may show them. Search files without their
-- hosts would hide them from takedowns.
create or replace function coordinator.bundled_shards(p_scan integer)
returns setof integer language sql stable security definer
set search_path = everytab, pg_temp as $$
    select j.part from jobs j
     where j.run = p_scan and j.kind = 'bundle-shard'
       and (j.state = 'completed'
            or exists (select from job_results r where r.job_id = j.job_id))
     order by j.part;
$$;
