-- The arrays contain pairs of slot and site hash.
create or replace function coordinator.load_site_hosts(
    p_slots smallint[], p_site_hashes bigint[])
returns table (slot smallint, host_hash bigint, site_hash bigint, hostname text,
               free_at timestamptz, delay_ms integer, response_ms integer,
               crawl_delay_ms integer, origins jsonb, robots bytea,
               robots_until timestamptz, addresses text[], addresses_until timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select h.slot, h.host_hash, h.site_hash, h.hostname, h.free_at, h.delay_ms, h.response_ms,
           h.crawl_delay_ms, h.origins, h.robots, h.robots_until, h.addresses, h.addresses_until
      from unnest(p_slots, p_site_hashes) asked (slot, site_hash)
      join frontier_hosts h on h.slot = asked.slot and h.site_hash = asked.site_hash
     order by h.slot, h.host_hash;
$$;
