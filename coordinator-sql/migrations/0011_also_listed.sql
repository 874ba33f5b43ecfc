-- Imported lists name the same hosts. The blocklist keeps a pattern once, with the name of one
-- list; here are the other lists that name it, so that it stays when that list drops it. Lists that
-- were imported before this are noted when they are imported next.
create table everytab.also_listed (
    list text not null,
    kind text not null,
    pattern text not null,
    primary key (list, kind, pattern)
);
