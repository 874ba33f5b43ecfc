-- What crawls know of hosts of one slot: their chunks in the order in which they were written. The
-- arrays name pairs of crawl and host.
create or replace function coordinator.load_host_chunks(
    p_slot smallint, p_crawls integer[], p_host_hashes bigint[])
returns table (crawl integer, host_hash bigint, seq integer, data bytea)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select c.crawl, c.host_hash, c.seq, c.data
      from unnest(p_crawls, p_host_hashes) asked (crawl, host_hash)
      join frontier_chunks c on c.slot = p_slot and c.crawl = asked.crawl
                            and c.host_hash = asked.host_hash
     order by c.crawl, c.host_hash, c.seq;
$$;
