-- The fetches that are forgotten with a URL or site, those of other URLs too whose body is in the
-- record of a forgotten one. Each crawl is looked into by its index.
create or replace function coordinator.forgotten_fetches(p_number integer)
returns setof everytab.fetches
language sql stable set search_path = everytab, pg_temp as $$
    with of_url as materialized (
        select g.forgotten_at, f.fetch
          from forgotten g
         cross join crawls c
         cross join lateral (
               select f as fetch from fetches f
                where f.crawl = c.crawl and f.host_hash = g.host_hash and f.url_hash = g.url_hash
                offset 0) f
         where g.number = p_number and g.kind = 'url'),
    of_site as (
        select g.forgotten_at, h.host_hash
          from forgotten g join frontier_hosts h on h.slot = g.slot and h.site_hash = g.host_hash
         where g.number = p_number and g.kind = 'site'),
    -- A record is named by other URLs of its site alone.
    beside_url as materialized (
        select distinct u.forgotten_at, (u.fetch).url, h.host_hash
          from of_url u
          join frontier_hosts own on own.slot = (u.fetch).slot
                                 and own.host_hash = (u.fetch).host_hash
          join frontier_hosts h on h.slot = own.slot and h.site_hash = own.site_hash),
    found as (
        select u.forgotten_at, u.fetch from of_url u
        union all
        select s.forgotten_at, f.fetch
          from of_site s
         cross join crawls c
         cross join lateral (
               select f as fetch from fetches f
                where f.crawl = c.crawl and f.host_hash = s.host_hash offset 0) f
        union all
        select b.forgotten_at, f.fetch
          from beside_url b
         cross join crawls c
         cross join lateral (
               select f as fetch from fetches f
                where f.crawl = c.crawl and f.host_hash = b.host_hash offset 0) f
         where (f.fetch).body_url = b.url
           and not exists (select from of_url u
                            where (u.fetch).host_hash = (f.fetch).host_hash
                              and (u.fetch).url_hash = (f.fetch).url_hash))
    select (f.fetch).* from found f
     where coalesce((f.fetch).body_at, (f.fetch).at) <= f.forgotten_at;
$$;
