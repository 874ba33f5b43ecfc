-- Deletes at most p_limit chunks and p_limit due times.
create or replace function coordinator.drop_ended_frontier(p_limit integer)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    deleted integer;
    deleted_due integer;
begin
    delete from frontier_due d
     where (d.slot, d.crawl, d.host_hash) in (
         select o.slot, o.crawl, o.host_hash from frontier_due o
           join crawls e on e.crawl = o.crawl and e.state = 'ended' limit p_limit);
    get diagnostics deleted_due = row_count;
    delete from frontier_chunks c
     where (c.slot, c.crawl, c.host_hash, c.seq) in (
         select o.slot, o.crawl, o.host_hash, o.seq from frontier_chunks o
           join crawls e on e.crawl = o.crawl and e.state = 'ended' limit p_limit);
    get diagnostics deleted = row_count;
    return deleted + deleted_due;
end $$;
