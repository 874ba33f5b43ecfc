-- The shards whose bundles are written, ascending: what search and publish read.
create or replace function coordinator.bundled_shards(p_scan integer)
returns setof integer language sql stable security definer
set search_path = everytab, pg_temp as $$
    select j.part from jobs j
     where j.scan = p_scan and j.kind = 'bundle-shard' and j.state = 'completed' order by j.part;
$$;
