-- Includes and excludes of a crawl may change while it runs: settings has the newest ones, and
-- patterns_version says how often they have changed, so that workers read them again.
alter table everytab.crawls
    add column patterns_version integer not null default 1 check (patterns_version > 0);

-- Each version of the includes and excludes of a crawl whose patterns have changed, the first one
-- too. Append-only.
create table everytab.crawl_patterns (
    crawl integer not null references everytab.crawls,
    version integer not null check (version > 0),
    changed_at timestamptz not null default clock_timestamp(),
    include jsonb not null check (jsonb_typeof(include) = 'array'),
    exclude jsonb not null check (jsonb_typeof(exclude) = 'array'),
    primary key (crawl, version)
);

-- When the removal of a crawl that has ended began, and when it was over: then its row and its sums
-- are all that is left, so that its number and name are not used again, and whoever knows them
-- still finds it ended.
alter table everytab.crawls
    add column dropping_at timestamptz, add column dropped_at timestamptz,
    add constraint crawls_dropped check (
        (dropping_at is null or state = 'ended')
        and (dropped_at is null or dropping_at is not null));

-- Whether any other crawl names an archive.
create index crawl_archives_object on everytab.crawl_archives (object);
