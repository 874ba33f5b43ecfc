-- Returns why a crawl cannot be dropped now: unknown, running (what is its state), indexing,
-- repeated (what is the name of an open crawl that may refer to its records), or scanned (what
-- is the id of a scan that reads it). Null if the crawl can be dropped.
create or replace function coordinator.drop_obstacle(p_id uuid, out word text, out what text)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
declare
    crawl_row crawls;
begin
    select * into crawl_row from crawls c where c.id = p_id;
    if not found then
        word := 'unknown';
    elsif crawl_row.state <> 'ended' then
        word := 'running';
        what := crawl_row.state;
    elsif exists (select from runs r
                   where r.run = crawl_row.run and r.state in ('running', 'paused')) then
        word := 'indexing';
    else
        select 'repeated', c.name into word, what from crawls c
         where c.state <> 'ended' and c.settings ->> 'again' = p_id::text
         order by c.crawl limit 1;
        if word is null then
            select 'scanned', s.scan_id into word, what
              from scans s join runs r on r.run = s.scan and r.state in ('running', 'paused')
             where s.crawl = crawl_row.name order by s.scan limit 1;
        end if;
    end if;
end $$;
