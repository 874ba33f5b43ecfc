-- The map has this many cells for each bundle.
create or replace function coordinator.most_tabs(p_scan integer)
returns integer language sql stable security definer set search_path = everytab, pg_temp as $$
    select coalesce(max(ceil(b.tabs::numeric / greatest(b.bundles, 1))), 0)::integer
      from (select distinct on (b.shard) b.tabs, b.bundles
              from bundles b
              join jobs j on j.run = b.scan and j.kind = 'bundle-shard' and j.part = b.shard
              join job_results r on r.job_id = j.job_id and r.lease_number = b.lease_number
             where b.scan = p_scan order by b.shard, b.lease_number desc) b;
$$;
