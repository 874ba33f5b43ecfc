-- The hosts of a crawl that have something due, soonest first, with their manners.
create or replace function coordinator.crawl_hosts(p_id uuid, p_limit integer)
returns table (hostname text, slot smallint, known integer, pending integer,
               next_due timestamptz, free_at timestamptz, delay_ms integer, response_ms integer,
               crawl_delay_ms integer, failures smallint)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select h.hostname, n.slot, n.known, n.pending, n.next_due, h.free_at, h.delay_ms,
           h.response_ms, h.crawl_delay_ms, h.failures
      from (select distinct on (c.slot, c.host_hash)
                   c.slot, c.host_hash, c.known, c.pending, c.next_due
              from frontier_chunks c join crawls r on r.crawl = c.crawl and r.id = p_id
             order by c.slot, c.host_hash, c.seq desc) n
      join frontier_hosts h using (slot, host_hash)
     where n.next_due is not null
     order by n.next_due, h.hostname limit p_limit;
$$;
