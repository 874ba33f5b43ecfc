-- Returns this crawl and the dropped crawls that it repeats, directly or through others,
-- because it may have been the last to refer to their archives.
create or replace function coordinator.dropped_crawls(p_crawl integer)
returns table (crawl integer, name text, store text, settings jsonb)
language sql stable security definer set search_path = everytab, pg_temp as $$
    with recursive repeated as (
        select c.crawl, c.settings ->> 'again' as again from crawls c where c.crawl = p_crawl
        union
        select e.crawl, e.settings ->> 'again'
          from repeated r join crawls e on e.id = r.again::uuid)
    select c.crawl, c.name, c.store, c.settings
      from repeated r join crawls c on c.crawl = r.crawl
     where c.crawl = p_crawl or c.dropped_at is not null
     order by c.crawl = p_crawl desc, c.crawl desc;
$$;
