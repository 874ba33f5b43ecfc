-- Writes chunks of what crawls know of a slot's hosts, but not of closed crawls. Those before a
-- snapshot are deleted.
create or replace function coordinator.put_chunks(
    p_slot smallint, p_closed integer[], p_crawls integer[], p_host_hashes bigint[],
    p_seqs integer[], p_snapshots boolean[], p_next_dues timestamptz[], p_knowns integer[],
    p_pendings integer[], p_data bytea[])
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    delete from frontier_chunks c
     using unnest(p_crawls, p_host_hashes, p_seqs, p_snapshots)
               as n (crawl, host_hash, seq, is_snapshot)
     where c.slot = p_slot and c.crawl = n.crawl and c.host_hash = n.host_hash and n.is_snapshot
       and c.seq < n.seq and n.crawl <> all (p_closed);
    insert into frontier_chunks (slot, crawl, host_hash, seq, is_snapshot, next_due, known,
                                 pending, data)
    select p_slot, n.*
      from unnest(p_crawls, p_host_hashes, p_seqs, p_snapshots, p_next_dues, p_knowns, p_pendings,
                  p_data) as n (crawl)
     where n.crawl <> all (p_closed);
end $$;
