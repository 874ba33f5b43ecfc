create or replace function coordinator.crawl_settings(p_crawl integer)
returns jsonb language sql stable security definer set search_path = everytab, pg_temp as $$
    select settings from crawls where crawl = p_crawl;
$$;
