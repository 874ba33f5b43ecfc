-- URLs and sites of which live crawls are to keep nothing that they kept until a time: no function
-- gives it out from then on, and `crawl gc` takes it out of the archives. cleared_at is set when
-- that is done. A row that is forgotten again gets a later time.
create table everytab.forgotten (
    number integer primary key generated always as identity,
    kind text not null check (kind in ('url', 'site')),
    -- The normalized key of the URL, or the name of the site.
    name text not null check (length(name) between 1 and 2048),
    -- Of the URL's host, or of the site.
    host_hash bigint not null,
    url_hash bigint check ((url_hash is null) = (kind = 'site')),
    -- Of the site.
    slot smallint check ((slot is null) = (kind = 'url')),
    forgotten_at timestamptz not null default clock_timestamp(),
    cleared_at timestamptz,
    unique (kind, name)
);
create index forgotten_url on everytab.forgotten (host_hash, url_hash);
