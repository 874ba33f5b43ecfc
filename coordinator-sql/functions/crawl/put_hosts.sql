-- If robots_until or addresses_until is null, the recorded robots.txt or addresses remain.
-- origins contains the origins that are paused, or that have had no success since their
-- last pause. Each is a JSON object with origin, since (the first failure), until (the end of the
-- pause), pause_s, failures (consecutive), outcome (of the last failure) and probe (the page to
-- request after the pause).
create or replace function coordinator.put_hosts(p_slot smallint, p_hosts everytab.host_row[])
returns void language sql set search_path = everytab, pg_temp as $$
    insert into frontier_hosts as h (
        slot, host_hash, site_hash, hostname, free_at, delay_ms, response_ms, crawl_delay_ms,
        origins, robots, robots_until, addresses, addresses_until)
    select p_slot, n.host_hash, n.site_hash, n.hostname, n.free_at, n.delay_ms, n.response_ms,
           n.crawl_delay_ms, n.origins, n.robots, n.robots_until,
           n.addresses, n.addresses_until
      from unnest(p_hosts) n
    on conflict (slot, host_hash) do update
       set free_at = excluded.free_at, delay_ms = excluded.delay_ms,
           response_ms = excluded.response_ms, crawl_delay_ms = excluded.crawl_delay_ms,
           origins = excluded.origins,
           robots = case when excluded.robots_until is null then h.robots
                         else excluded.robots end,
           robots_until = coalesce(excluded.robots_until, h.robots_until),
           addresses = case when excluded.addresses_until is null then h.addresses
                            else excluded.addresses end,
           addresses_until = coalesce(excluded.addresses_until, h.addresses_until);
$$;
