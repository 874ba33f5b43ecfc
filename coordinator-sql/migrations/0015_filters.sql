-- Filters of live crawls, and the lists that they name.

-- Lists that were imported, each version a row, written once: a crawl names the version with which
-- it was started. The object has the names as hashes, or ranges of addresses with their countries
-- (crates/filters); entries counts them, by category.
create table everytab.filter_lists (
    version integer not null check (version > 0),
    imported_at timestamptz not null default now(),
    entries bigint not null check (entries >= 0),
    bytes bigint not null check (bytes >= 0),
    name text not null check (name ~ '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$'),
    kind text not null check (kind in ('names', 'countries')),
    store text not null,
    object text not null,
    source text not null check (length(source) <= 4096),
    sha256 bytea not null check (length(sha256) = 32),
    categories jsonb not null,
    primary key (name, version)
);

-- Filters as their owners wrote them. Updated by their owners, each time with the next version:
-- crawls have a copy of the one with which they were started.
create table everytab.filters (
    id uuid primary key,
    version integer not null default 1 check (version > 0),
    changed_at timestamptz not null default now(),
    owner text not null check (length(owner) between 1 and 100),
    name text not null check (name ~ '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$'),
    body jsonb not null,
    unique (owner, name)
) with (fillfactor = 50);
