-- No archive has what is forgotten with a URL or site: drops what rows say of it but its URL and
-- how it ended, has the indexes of its crawls written again, without it, and notes that it is done.
-- False: it was forgotten again since p_forgotten_at, or an index is being written that may have
-- it.
create or replace function coordinator.clear_forgotten(
    p_number integer, p_forgotten_at timestamptz)
returns boolean language plpgsql set search_path = everytab, pg_temp as $$
declare
    indexed integer;
begin
    if exists (select from coordinator.forgotten_fetches(p_number) f
                 join crawls c on c.crawl = f.crawl
                 join runs r on r.run = c.run
                where r.state not in ('finished', 'finished_with_discards', 'cancelled')) then
        return false;
    end if;
    update forgotten g set cleared_at = clock_timestamp()
     where g.number = p_number and g.forgotten_at = p_forgotten_at;
    if not found then
        return false;
    end if;
    delete from fetch_texts t using coordinator.forgotten_fetches(p_number) f
     where t.crawl = f.crawl and t.host_hash = f.host_hash and t.url_hash = f.url_hash;
    -- The one update of a fetch: to keep what a page said is what was to end.
    update fetches u
       set title = null, etag = null, last_modified = null, redirect = null, sha256 = null
      from coordinator.forgotten_fetches(p_number) f
     where u.crawl = f.crawl and u.host_hash = f.host_hash and u.url_hash = f.url_hash;
    for indexed in
        select distinct c.crawl
          from coordinator.forgotten_fetches(p_number) f
          join crawls c on c.crawl = f.crawl and c.state = 'ended'
          join runs r on r.run = c.run and r.state in ('finished', 'finished_with_discards')
         order by c.crawl
    loop
        perform coordinator.open_crawl_run(indexed);
    end loop;
    return true;
end $$;
