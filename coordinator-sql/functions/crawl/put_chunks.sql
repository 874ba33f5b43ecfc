-- Writes host state chunks, and each host's due time. Skips closed crawls. A snapshot deletes
-- the chunks before it.
create or replace function coordinator.put_chunks(
    p_slot smallint, p_closed integer[], p_chunks everytab.chunk_row[])
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- While a host remains due, its due time is updated at most this often, so that rows are
    -- seldom updated and hosts that have waited longest remain first.
    kept constant interval := interval '1 minute';
begin
    delete from frontier_chunks c
     using unnest(p_chunks) n
     where c.slot = p_slot and c.crawl = n.crawl and c.host_hash = n.host_hash and n.is_snapshot
       and c.seq < n.seq and n.crawl <> all (p_closed);
    insert into frontier_chunks (slot, crawl, host_hash, seq, is_snapshot, known, pending, data)
    select p_slot, n.crawl, n.host_hash, n.seq, n.is_snapshot, n.known, n.pending, n.data
      from unnest(p_chunks) n
     where n.crawl <> all (p_closed);
    delete from frontier_due d
     using unnest(p_chunks) n
     where d.slot = p_slot and d.crawl = n.crawl and d.host_hash = n.host_hash
       and n.next_due is null;
    insert into frontier_due as d (slot, crawl, host_hash, next_due)
    select p_slot, n.crawl, n.host_hash, n.next_due from unnest(p_chunks) n
     where n.next_due is not null and n.crawl <> all (p_closed)
    on conflict (slot, crawl, host_hash) do update set next_due = excluded.next_due
     where d.next_due > excluded.next_due or excluded.next_due > clock_timestamp()
        or d.next_due < excluded.next_due - kept;
end $$;
