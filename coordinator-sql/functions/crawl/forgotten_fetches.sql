-- For a URL this includes other URLs that refer to its record for their body.
create or replace function coordinator.forgotten_fetches(p_number integer)
returns setof everytab.fetches
language sql stable set search_path = everytab, pg_temp as $$
    select f.*
      from forgotten g
     cross join crawls c
     cross join lateral (
           select f.* from fetches f
            where f.crawl = c.crawl and f.host_hash = g.host_hash and f.url_hash = g.url_hash
            offset 0) f
     where g.number = p_number and g.kind = 'url' and coalesce(f.body_at, f.at) <= g.forgotten_at
    union all
    select f.*
      from forgotten g
     cross join crawls c
     cross join lateral (
           select f.* from fetches f
            where f.crawl = c.crawl and f.body_host_hash = g.host_hash
              and f.body_url_hash = g.url_hash
            offset 0) f
     where g.number = p_number and g.kind = 'url' and f.body_at <= g.forgotten_at
    union all
    select f.*
      from forgotten g
      join frontier_hosts h on h.slot = g.slot and h.site_hash = g.host_hash
     cross join crawls c
     cross join lateral (
           select f.* from fetches f
            where f.crawl = c.crawl and f.host_hash = h.host_hash offset 0) f
     where g.number = p_number and g.kind = 'site' and coalesce(f.body_at, f.at) <= g.forgotten_at;
$$;
