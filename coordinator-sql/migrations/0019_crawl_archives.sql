-- The archives of live crawls that fetches name, each once. The name of an archive takes about 140
-- bytes, which each fetch repeated: a quarter of what it took. Append-only.
create table everytab.crawl_archives (
    archive integer primary key generated always as identity,
    crawl integer not null,
    object text not null,
    unique (crawl, object)
);

-- First, for it lets nobody record a fetch until the migration is over: every row is written anew.
alter table everytab.fetches add column archive integer, add column body_archive integer;

insert into everytab.crawl_archives (crawl, object)
select f.crawl, o.object
  from everytab.fetches f cross join lateral (values (f.object), (f.body_object)) o (object)
 where o.object is not null group by f.crawl, o.object;
update everytab.fetches f
   set archive = (select a.archive from everytab.crawl_archives a
                   where a.crawl = f.crawl and a.object = f.object),
       body_archive = (select a.archive from everytab.crawl_archives a
                        where a.crawl = f.crawl and a.object = f.body_object)
 where f.object is not null or f.body_object is not null;
alter table everytab.fetches drop column object, drop column body_object;
