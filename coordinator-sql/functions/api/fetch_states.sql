-- Omits a URL if its key is invalid or another key owns the crawl.
create or replace function api.fetch_states(
    p_keys text[], p_secrets bytea[], p_crawls integer[], p_hosts bigint[], p_urls bigint[])
returns table (number bigint, fetched everytab.api_fetch)
language plpgsql stable security definer set search_path = everytab, pg_temp
-- Planning takes longer than executing, and a generic plan suffices.
set plan_cache_mode = force_generic_plan as $$
begin
    return query
    select x.number, api.describe(c, f.f, x.host_hash, x.url_hash)
      from unnest(p_keys, p_secrets, p_crawls, p_hosts, p_urls) with ordinality
               x (key, secret, crawl, host_hash, url_hash, number)
      join api_crawls a on a.crawl = x.crawl and a.key = x.key
      join crawls c on c.crawl = a.crawl
      left join lateral (
           select f from fetches f
            where f.crawl = x.crawl and f.host_hash = x.host_hash and f.url_hash = x.url_hash
            limit 1) f on true
     where api.is_key(x.key, x.secret);
end $$;
