-- Null if the key's newest capture is older than p_max_age_s or forgotten.
create or replace function api.young_capture(
    p_key text, p_host bigint, p_url bigint, p_max_age_s integer)
returns integer language sql stable set search_path = everytab, pg_temp as $$
    select f.crawl
      from (select clock_timestamp() - make_interval(secs => p_max_age_s) as since) t
     cross join api_crawls a
      join crawls c on c.crawl = a.crawl
     cross join lateral (
           select f.crawl, f.at, f.outcome, f.bytes from fetches f
            where f.crawl = a.crawl and f.host_hash = p_host and f.url_hash = p_url
              and not coordinator.is_fetch_forgotten(f) limit 1) f
     where a.key = p_key and (c.finished_at is null or c.finished_at >= t.since)
       and f.at >= t.since and coordinator.ending_of(f.outcome, f.bytes) = 'captured'
     order by f.at desc limit 1;
$$;
