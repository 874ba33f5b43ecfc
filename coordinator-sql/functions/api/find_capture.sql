-- Returns the capture with a stored record that is nearest to p_at, or the newest. Skips
-- forgotten captures and those on blocked hosts.
create or replace function api.find_capture(
    p_key text, p_secret bytea, p_crawl uuid, p_host bigint, p_url bigint, p_at timestamptz)
returns setof everytab.api_fetch
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Each crawl costs one index lookup.
    max_crawls constant integer := 2000;
    only_crawl integer;
begin
    perform api.check_reader(p_key, p_secret, 1);
    if p_crawl is not null then
        only_crawl := (api.own_crawl(p_key, p_crawl)).crawl;
    end if;
    return query
    select d.*
      from (select c, f.f
              from (select a.crawl from api_crawls a
                     where a.key = p_key and (only_crawl is null or a.crawl = only_crawl)
                     order by a.crawl desc limit max_crawls) a
              join crawls c on c.crawl = a.crawl
             cross join lateral (
                   select f from fetches f
                    where f.crawl = a.crawl and f.host_hash = p_host and f.url_hash = p_url
                      and f.archive is not null
                      and not coordinator.is_host_blocked(coordinator.host_of_url(f.url))
                      and not coordinator.is_fetch_forgotten(f)
                    limit 1) f
             order by abs(extract(epoch from (f.f).at - p_at)), (f.f).at desc limit 1) found (c, f)
     cross join lateral api.describe(found.c, found.f, p_host, p_url) d;
end $$;
