-- A crawl that fetched the URL or site also has one row without an archive.
create or replace function coordinator.forgotten_archives(p_number integer)
returns table (object text, crawl_name text, store text, settings jsonb)
language sql stable set search_path = everytab, pg_temp as $$
    with of_fetches as materialized (
        select distinct f.crawl, f.archive, f.body_archive
          from coordinator.forgotten_fetches(p_number) f)
    select a.object, c.name, c.store, c.settings
      from (select distinct a.crawl, a.object
              from of_fetches f join crawl_archives a on a.archive in (f.archive, f.body_archive)
            union
            select distinct f.crawl, null from of_fetches f) a
      join crawls c on c.crawl = a.crawl
     order by c.crawl, a.object;
$$;
