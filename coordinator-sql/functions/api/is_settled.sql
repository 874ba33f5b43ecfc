create or replace function api.is_settled(p_crawl integer, p_host bigint, p_url bigint)
returns boolean language sql stable set search_path = everytab, pg_temp as $$
    select exists (select from fetches f
                    where f.crawl = p_crawl and f.host_hash = p_host and f.url_hash = p_url);
$$;
