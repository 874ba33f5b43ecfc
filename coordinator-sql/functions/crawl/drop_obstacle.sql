-- Returns why a crawl cannot be dropped now, and in "what" the crawl's state, the open crawl
-- that repeats it, or the scan that reads it.
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
