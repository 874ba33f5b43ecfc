-- Returns URLs with which a crawl started, after a pair of hashes: fetched pages at depth 0,
-- which were submitted, and their redirect targets.
create or replace function coordinator.crawl_seeds(
    p_crawl integer, p_after_host bigint, p_after_url bigint, p_limit integer)
returns table (host_hash bigint, url_hash bigint, url text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select f.host_hash, f.url_hash, f.url
      from fetches f left join crawl_archives a on a.archive = f.archive
     where f.crawl = p_crawl and f.depth = 0 and f.is_no_page is null
       and (f.host_hash, f.url_hash) > (p_after_host, p_after_url)
       and (a.object is null or a.object !~ '/segments/[0-9]+/media/')
     order by f.host_hash, f.url_hash limit p_limit;
$$;
