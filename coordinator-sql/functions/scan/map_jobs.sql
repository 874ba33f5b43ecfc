-- There is one job for each region, which is a square of bundles, and one for each order.
-- Bundles are arranged in as many rows as columns, as in `bundler`.
create or replace function coordinator.map_jobs(p_scan integer)
returns integer language sql stable set search_path = everytab, pg_temp as $$
    -- Limit bundles_of_a_region = 48: per side; a region is one tile at 1 pixel per tab.
    -- Limit orders = 3: the icons are drawn once more by colour, by domain and by rank.
    select coalesce(power(ceil(ceil(sqrt(s.shards::bigint * s.bundles_per_shard)) / 48), 2)
                    + case when s.shards > 0 then 3 end, 0)::integer
      from scans s where s.scan = p_scan;
$$;
