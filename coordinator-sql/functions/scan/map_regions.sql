-- Returns how many map jobs a scan has, one for each region: a square of bundles. Bundles are
-- arranged in as many rows as columns. `bundler` has the same numbers.
create or replace function coordinator.map_regions(p_scan integer)
returns integer language sql stable set search_path = everytab, pg_temp as $$
    -- Limit bundles_of_a_region = 48: per side; a region is one tile at 1 pixel per tab.
    select coalesce(power(ceil(ceil(sqrt(s.shards::bigint * s.bundles_per_shard)) / 48), 2), 0)
           ::integer
      from scans s where s.scan = p_scan;
$$;
