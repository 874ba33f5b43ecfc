-- Returns the array positions (from 1) of the captures that a key may read. Charges one request
-- per capture.
create or replace function api.admit_captures(
    p_key text, p_secret bytea, p_crawls integer[], p_hosts bigint[], p_urls bigint[])
returns table (number bigint)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, cardinality(p_crawls));
    return query
    select x.number
      from unnest(p_crawls, p_hosts, p_urls) with ordinality x (crawl, host, url, number)
      join api_crawls a on a.crawl = x.crawl and a.key = p_key
      join fetches f on f.crawl = x.crawl and f.host_hash = x.host and f.url_hash = x.url
     where f.archive is not null
       and not coordinator.is_host_blocked(coordinator.host_of_url(f.url))
       and not coordinator.is_fetch_forgotten(f);
end $$;
