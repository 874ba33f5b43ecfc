-- named_records counts records in the crawl's archives to which other crawls' revisits refer,
-- and which remain when the crawl is removed.
create or replace function coordinator.drop_counts(
    p_crawl integer, out fetches bigint, out named_records bigint)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
declare
    folder text := (select format('crawl-data/%s/', c.name) from crawls c
                     where c.crawl = p_crawl);
    archives integer[];
    crawls integer[];
begin
    fetches := (select count(*) from everytab.fetches f where f.crawl = p_crawl);
    archives := array(select a.archive from crawl_archives a
                       where a.crawl <> p_crawl and starts_with(a.object, folder));
    crawls := array(select distinct a.crawl from crawl_archives a
                     where a.archive = any (archives));
    named_records := (
        select count(distinct (a.object, f.body_offset))
          from unnest(crawls) other
         cross join lateral (
               select f.body_archive, f.body_offset from everytab.fetches f
                where f.crawl = other and f.body_archive = any (archives) offset 0) f
          join crawl_archives a on a.archive = f.body_archive);
end $$;
