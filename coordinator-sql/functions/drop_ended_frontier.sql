-- Deletes chunks of crawls that have ended, at most p_limit. Returns how many.
create or replace function coordinator.drop_ended_frontier(p_limit integer)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    deleted integer;
begin
    delete from frontier_chunks c
     where (c.slot, c.crawl, c.host_hash, c.seq) in (
         select o.slot, o.crawl, o.host_hash, o.seq from frontier_chunks o
           join crawls e on e.crawl = o.crawl and e.state = 'ended' limit p_limit);
    get diagnostics deleted = row_count;
    return deleted;
end $$;
