-- The tables of the coordinator. The data tables (hosts, pages, icons) are append-only and
-- partitioned by scan, so that an old scan is dropped by partition and not deleted row by row. Only
-- scans, stages, jobs and blocklist are updated.

create type everytab.job_kind as enum
    ('index', 'warc', 'icon', 'bundle-shard', 'search', 'publish');
create type everytab.job_state as enum ('pending', 'leased', 'completed', 'discarded');
create type everytab.scan_state as enum
    ('running', 'paused', 'finished', 'finished_with_discards', 'cancelled');

create table everytab.scans (
    scan integer generated always as identity primary key,
    scan_id uuid not null unique,
    crawl text not null check (length(crawl) between 1 and 100),
    settings jsonb not null,
    state everytab.scan_state not null default 'running',
    lease_ms integer not null check (lease_ms between 10 and 86400000),
    encoder text not null,
    rate integer check (rate > 0),
    shards integer check (shards >= 0),
    bundles_per_shard integer check (bundles_per_shard > 0),
    hash_span numeric(20) check (hash_span >= 0),
    started_at timestamptz not null default now(),
    finished_at timestamptz
);

create table everytab.stages (
    scan integer not null,
    kind everytab.job_kind not null,
    outstanding integer not null default 0 check (outstanding >= 0),
    done integer not null default 0 check (done >= 0),
    discarded integer not null default 0 check (discarded >= 0),
    paused boolean not null default false,
    started_at timestamptz,
    finished_at timestamptz,
    primary key (scan, kind)
) with (fillfactor = 10);

-- About 75,000 rows a scan, at most 150 bytes each: small, and updated often. No index holds a
-- column that a renewal changes, so renewals are HOT updates. A job waits at not_before =
-- 'infinity' while a job whose output it reads is performed again.
create table everytab.jobs (
    job_id bigint generated always as identity primary key,
    leased_at timestamptz,
    lease_until timestamptz,
    not_before timestamptz,
    lease_token uuid,
    scan integer not null,
    kind everytab.job_kind not null,
    state everytab.job_state not null default 'pending',
    part integer not null check (part >= 0),
    lease_number integer not null default 0,
    priority smallint not null default 0,
    attempts smallint not null default 0,
    crashes smallint not null default 0,
    chunks smallint not null default 0,
    holder text check (length(holder) <= 40),
    unique (scan, kind, part),
    check ((state = 'leased') = (lease_token is not null and lease_until is not null
                                 and holder is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01,
        autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
create index jobs_ready on everytab.jobs (scan, kind, priority, job_id)
    where state = 'pending' and not_before is null;
create index jobs_delayed on everytab.jobs (not_before)
    where state = 'pending' and not_before is not null;
create index jobs_leased on everytab.jobs (job_id) where state = 'leased';

-- One row for each completion. Counts are summed from this table, never from the data tables.
create table everytab.job_results (
    job_id bigint not null,
    scan integer not null,
    lease_number integer not null,
    kind everytab.job_kind not null,
    part integer not null,
    holder text not null,
    leased_at timestamptz not null,
    ended_at timestamptz not null default now(),
    token uuid not null,
    stats jsonb not null,
    primary key (job_id, lease_number)
);
create index job_results_scan on everytab.job_results (scan, kind);

-- What happened to a job besides completing: retry, release, expired, discard, reopened, revoked.
create table everytab.job_events (
    job_id bigint not null,
    scan integer not null,
    at timestamptz not null default now(),
    event text not null check (length(event) <= 20),
    lease_number integer not null,
    holder text,
    message text check (length(message) <= 1000)
);
create index job_events_job on everytab.job_events (job_id);
create index job_events_scan on everytab.job_events (scan, at);

create table everytab.index_files (
    scan integer not null,
    file integer not null,
    path text not null check (length(path) <= 1000),
    max_captures bigint check (max_captures > 0),
    primary key (scan, file)
);

create table everytab.warc_files (
    warc_file integer generated always as identity primary key,
    path text not null unique check (length(path) <= 1000)
);

-- Captures of home pages. Only rows with the lease number of a completed index job are read;
-- loading a shard picks one capture for each hostname. hash is the first 8 bytes of the hostname's
-- SHA-256 with the sign bit flipped, so that the order of signed numbers is that of the unsigned
-- ones.
create table everytab.hosts (
    scan integer not null,
    file integer not null,
    lease_number integer not null,
    hash bigint not null,
    hostname text not null check (length(hostname) between 1 and 253),
    https boolean not null,
    fetch_time timestamptz not null,
    warc_file integer not null,
    warc_offset bigint not null check (warc_offset >= 0),
    warc_length bigint not null check (warc_length > 0)
) partition by list (scan);
create index hosts_hash on everytab.hosts (hash);

create table everytab.pages (
    scan integer not null,
    shard integer not null,
    lease_number integer not null,
    host_no integer not null,
    hostname text not null,
    https boolean not null,
    frameable boolean not null,
    framing_rule text not null,
    charset text,
    title_state text not null,
    title text,
    candidates json not null,
    outcome text not null check (length(outcome) <= 40)
) partition by list (scan);
create index pages_shard on everytab.pages (shard);

create table everytab.icons (
    scan integer not null,
    shard integer not null,
    lease_number integer not null,
    host_no integer not null,
    candidate_no smallint not null,
    touch boolean not null,
    width integer,
    height integer,
    bytes integer,
    duration_ms integer not null,
    archive_offset bigint,
    archive_length bigint,
    sha256 bytea check (length(sha256) = 32),
    source text not null check (source in ('favicon_ico', 'link_rel')),
    outcome text not null check (length(outcome) <= 40),
    content_type text,
    declared_type text,
    declared_sizes text,
    url text not null check (length(url) <= 2048)
) partition by list (scan);
create index icons_shard on everytab.icons (shard);

create table everytab.bundles (
    scan integer not null,
    shard integer not null,
    lease_number integer not null,
    first_bundle integer not null,
    bundles integer not null,
    tabs integer not null,
    with_icon integer not null,
    bytes bigint not null,
    digest bytea not null check (length(digest) = 32),
    primary key (scan, shard, lease_number)
);

create table everytab.blocklist (
    kind text not null check (kind in ('hostname', 'suffix', 'title')),
    pattern text not null check (length(pattern) between 1 and 300),
    reason text,
    added_at timestamptz not null default now(),
    primary key (kind, pattern)
);

-- A copy of the blocklist as it was when the scan started: the bundles depend on this copy only.
create table everytab.scan_blocklist (
    scan integer not null,
    kind text not null,
    pattern text not null,
    primary key (scan, kind, pattern)
);
