-- The shards whose bundles are written, in ascending order: the input of search and publish jobs.
create or replace function coordinator.bundled_shards(p_scan integer)
returns setof integer language sql stable security definer
set search_path = everytab, pg_temp as $$
    select j.part from jobs j
     where j.run = p_scan and j.kind = 'bundle-shard' and j.state = 'completed' order by j.part;
$$;
