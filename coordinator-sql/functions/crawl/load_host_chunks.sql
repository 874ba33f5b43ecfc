-- Chunks are returned in the order in which they were written. The arrays contain triples of
-- slot, crawl and host hash.
create or replace function coordinator.load_host_chunks(
    p_slots smallint[], p_crawls integer[], p_host_hashes bigint[])
returns table (slot smallint, crawl integer, host_hash bigint, seq integer, data bytea)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select c.slot, c.crawl, c.host_hash, c.seq, c.data
      from unnest(p_slots, p_crawls, p_host_hashes) asked (slot, crawl, host_hash)
      join frontier_chunks c on c.slot = asked.slot and c.crawl = asked.crawl
                            and c.host_hash = asked.host_hash
     order by c.slot, c.crawl, c.host_hash, c.seq;
$$;
