-- Hosts are ordered by due time after the given position. failures is the maximum number of
-- consecutive failures over the host's origins. origins is as in put_hosts.
create or replace function coordinator.crawl_hosts(
    p_id uuid, p_limit integer, p_after_due timestamptz, p_after_host bigint)
returns table (hostname text, slot smallint, known integer, pending integer,
               next_due timestamptz, free_at timestamptz, delay_ms integer, response_ms integer,
               crawl_delay_ms integer, failures integer, origins jsonb)
language sql stable security definer set search_path = everytab, pg_temp as $$
    -- Materialized, so that only these hosts are joined with the other tables.
    with first as materialized (
        select d.* from crawls r
         cross join slots s
         cross join lateral (
               select f.slot, f.crawl, f.host_hash, f.next_due from frontier_due f
                where f.slot = s.slot and f.crawl = r.crawl
                  and (f.next_due, f.host_hash)
                      > (coalesce(p_after_due, '-infinity'),
                         coalesce(p_after_host, 0))
                order by f.next_due, f.host_hash limit p_limit) d
         where r.id = p_id
         order by d.next_due, d.host_hash limit p_limit)
    select h.hostname, d.slot, n.known, n.pending, d.next_due, h.free_at, h.delay_ms,
           h.response_ms, h.crawl_delay_ms,
           coalesce((select max((o ->> 'failures')::integer)
                       from jsonb_array_elements(h.origins) o), 0), h.origins
      from first d
      join frontier_hosts h on h.slot = d.slot and h.host_hash = d.host_hash
      join lateral (select c.known, c.pending from frontier_chunks c
                     where c.slot = d.slot and c.crawl = d.crawl and c.host_hash = d.host_hash
                     order by c.seq desc limit 1) n on true
     order by d.next_due, d.host_hash;
$$;
