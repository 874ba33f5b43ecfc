-- Returns the number of a scan's map jobs, one for each region. A region is a square of
-- bundles, and bundles are arranged in equally many rows and columns. `bundler` uses the same
-- numbers.
create or replace function coordinator.map_regions(p_scan integer)
returns integer language sql stable set search_path = everytab, pg_temp as $$
    -- Limit bundles_of_a_region = 48: per side; a region is then one tile with 1 pixel per tab.
    select coalesce(power(ceil(ceil(sqrt(s.shards::bigint * s.bundles_per_shard)) / 48), 2), 0)
           ::integer
      from scans s where s.scan = p_scan;
$$;
