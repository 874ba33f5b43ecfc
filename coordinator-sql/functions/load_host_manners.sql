-- The manners of hosts of one slot: what was learnt of them in all crawls.
create or replace function coordinator.load_host_manners(
    p_slot smallint, p_host_hashes bigint[])
returns table (host_hash bigint, site_hash bigint, hostname text, free_at timestamptz,
               delay_ms integer, response_ms integer, crawl_delay_ms integer, failures smallint,
               robots bytea, robots_until timestamptz, addresses text[],
               addresses_until timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select h.host_hash, h.site_hash, h.hostname, h.free_at, h.delay_ms, h.response_ms,
           h.crawl_delay_ms, h.failures, h.robots, h.robots_until, h.addresses, h.addresses_until
      from frontier_hosts h where h.slot = p_slot and h.host_hash = any (p_host_hashes);
$$;
