-- Inserts the archives to which these fetches refer, and returns all their rows.
create or replace function coordinator.add_archives(
    p_fetches everytab.fetch_row[], p_closed integer[])
returns everytab.crawl_archives[]
language plpgsql set search_path = everytab, pg_temp as $$
declare
    named record;
    known crawl_archives;
    archives crawl_archives[] := '{}';
begin
    -- Sorted, so that checkpoints that insert the same new archives cannot deadlock.
    for named in
        select distinct n.crawl, n.object
          from unnest(p_fetches) f, lateral (values (f.crawl, f.object), (f.crawl, f.body_object))
                   as n (crawl, object)
         where n.object is not null and n.crawl <> all (p_closed)
         order by n.crawl, n.object
    loop
        select * into known from crawl_archives a
         where a.crawl = named.crawl and a.object = named.object;
        if known.archive is null then
            insert into crawl_archives (crawl, object) values (named.crawl, named.object)
            on conflict do nothing;
            -- Another checkpoint may have inserted this archive.
            select * into known from crawl_archives a
             where a.crawl = named.crawl and a.object = named.object;
        end if;
        archives := archives || known;
    end loop;
    return archives;
end $$;
