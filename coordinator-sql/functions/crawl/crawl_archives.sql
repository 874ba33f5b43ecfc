create or replace function coordinator.crawl_archives(p_crawl integer)
returns table (object text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select a.object from crawl_archives a where a.crawl = p_crawl order by a.object;
$$;
