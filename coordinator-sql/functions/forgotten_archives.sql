-- The archives that have records of what is forgotten with a URL or site, with the store and the
-- settings of the crawl that wrote each.
create or replace function coordinator.forgotten_archives(p_number integer)
returns table (object text, crawl_name text, store text, settings jsonb)
language sql stable set search_path = everytab, pg_temp as $$
    select distinct on (a.object) a.object, c.name, c.store, c.settings
      from coordinator.forgotten_fetches(p_number) f
      join crawl_archives a on a.archive in (f.archive, f.body_archive)
      join crawls c on c.crawl = a.crawl
     order by a.object, c.crawl;
$$;
