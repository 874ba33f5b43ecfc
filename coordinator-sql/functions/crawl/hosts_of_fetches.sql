create or replace function coordinator.hosts_of_fetches(p_crawl integer, p_hashes bigint[])
returns table (host_hash bigint, hostname text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select asked.hash, coordinator.host_of_url(f.url)
      from unnest(p_hashes) asked (hash)
     cross join lateral (
           select f.url from fetches f
            where f.crawl = p_crawl and f.host_hash = asked.hash limit 1) f;
$$;
