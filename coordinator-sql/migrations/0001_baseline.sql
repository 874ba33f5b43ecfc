-- The coordinator's tables: the job queue, scans, live crawls and the HTTP service. Rows in
-- data tables are never updated, and are deleted when their scan or crawl is removed, or after
-- a takedown. For other tables, a comment specifies when their rows are updated or deleted.

create type everytab.run_kind as enum ('scan', 'crawl');
create type everytab.run_state as enum
    ('running', 'paused', 'finished', 'finished_with_discards', 'cancelled');
create type everytab.job_kind as enum
    ('index', 'warc', 'icon', 'bundle-shard', 'search', 'map', 'publish', 'crawl-index',
     'crawl-close');
create type everytab.job_state as enum ('pending', 'leased', 'completed', 'discarded');

-- A run is a scan, or the closing of a live crawl, in the job queue. It has stages, jobs,
-- results and events. Every lease call reads this table and few calls update it, so that a
-- lease call does not step over old row versions. digests identifies programs on which the
-- run's output depends in addition to its input, such as the icon encoder. If a worker has a
-- different digest, it leases no jobs of the kinds that need this program. deadline_ms limits
-- the total duration of one lease (null: by kind, see coordinator.deadline). archive_rate
-- limits the requests per second that all workers together send to the run's source (null:
-- unlimited).
create table everytab.runs (
    run integer generated always as identity primary key,
    kind everytab.run_kind not null,
    state everytab.run_state not null default 'running',
    lease_ms integer not null check (lease_ms between 10 and 86400000),
    rate integer check (rate > 0),
    deadline_ms bigint check (deadline_ms > 0),
    digests jsonb not null default '{}' check (jsonb_typeof(digests) = 'object'),
    paused_kinds everytab.job_kind[] not null default '{}',
    started_at timestamptz not null default now(),
    finished_at timestamptz,
    archive_rate integer check (archive_rate > 0)
);

-- Counters for each stage in a run. Every completion updates them.
create table everytab.stages (
    run integer not null,
    kind everytab.job_kind not null,
    outstanding integer not null default 0 check (outstanding >= 0),
    done integer not null default 0 check (done >= 0),
    discarded integer not null default 0 check (discarded >= 0),
    started_at timestamptz,
    finished_at timestamptz,
    primary key (run, kind)
) with (fillfactor = 10);

-- A scan has about 75,000 rows with at most 150 bytes each, and updates them often. Renewals
-- are HOT updates, because they change no indexed column. A job has not_before = 'infinity'
-- while it waits for another job that runs again and whose output it reads. current_item is the
-- item that a job under isolation is processing. If the lease expires, a sweep copies
-- current_item into the crash event.
create table everytab.jobs (
    job_id bigint generated always as identity primary key,
    leased_at timestamptz,
    lease_until timestamptz,
    not_before timestamptz,
    lease_token uuid,
    run integer not null,
    kind everytab.job_kind not null,
    state everytab.job_state not null default 'pending',
    part integer not null check (part >= 0),
    lease_number integer not null default 0,
    priority smallint not null default 0,
    attempts smallint not null default 0,
    crashes smallint not null default 0,
    chunks smallint not null default 0,
    worker_id text check (length(worker_id) <= 40),
    current_item bigint check (current_item >= 0),
    unique (run, kind, part),
    check ((state = 'leased') = (lease_token is not null and lease_until is not null
                                 and worker_id is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01,
        autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
create index jobs_ready on everytab.jobs (run, kind, priority, job_id)
    where state = 'pending' and not_before is null;
create index jobs_delayed on everytab.jobs (not_before)
    where state = 'pending' and not_before is not null;
create index jobs_leased on everytab.jobs (job_id) where state = 'leased';

-- One row per completion. Counts are summed from this table, never from the data tables.
create table everytab.job_results (
    job_id bigint not null,
    run integer not null,
    lease_number integer not null,
    kind everytab.job_kind not null,
    part integer not null,
    worker_id text not null,
    leased_at timestamptz not null,
    ended_at timestamptz not null default now(),
    token uuid not null,
    stats jsonb not null,
    primary key (job_id, lease_number),
    constraint job_results_stats_size check (octet_length(stats::text) <= 1048576)
);
-- Results are appended and summed by run, so a BRIN index finds them as well as a B-tree and
-- adds no cost to a completion.
create index job_results_run on everytab.job_results using brin (run)
    with (pages_per_range = 16, autosummarize = on);

-- Job events other than completion: retry, release, expired, discard, reopened, revoked.
create table everytab.job_events (
    job_id bigint not null,
    run integer not null,
    at timestamptz not null default now(),
    event text not null check (length(event) <= 20),
    lease_number integer not null,
    worker_id text,
    message text check (length(message) <= 1000),
    item bigint
);
create index job_events_job on everytab.job_events (job_id);
create index job_events_run on everytab.job_events (run, at);

-- A scan has the same number as its run. hosts, pages and icons are partitioned by scan, so
-- that an old scan is dropped by dropping its partitions instead of deleting rows. Lengths are
-- limited so that a stolen worker token can neither fill the disk nor make the scan read the
-- wrong files.
create table everytab.scans (
    scan integer primary key references everytab.runs (run),
    scan_id uuid not null unique,
    crawl text not null check (length(crawl) between 1 and 100),
    settings jsonb not null,
    shards integer check (shards >= 0),
    bundles_per_shard integer check (bundles_per_shard > 0),
    hash_span numeric(20) check (hash_span >= 0),
    constraint scans_settings_size check (octet_length(settings::text) <= 65536)
);

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

-- Captures of home pages. Readers use only rows whose lease number belongs to a completed index
-- job. Loading a shard selects one capture for each hostname. hash is the first 8 bytes of the
-- hostname's SHA-256 with the sign bit flipped, so that signed integers sort like the unsigned
-- originals.
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
    warc_length bigint not null check (warc_length > 0),
    constraint hosts_warc_range
        check (warc_offset < 1099511627776 and warc_length <= 1073741824)
) partition by list (scan);
create index hosts_hash on everytab.hosts (hash);

-- A title has at most 300 characters. A page has at most 51 candidate URLs, and its data: URLs
-- have at most 64 KiB in total.
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
    outcome text not null check (length(outcome) <= 40),
    constraint pages_lengths check (
        length(hostname) <= 253 and length(framing_rule) <= 100 and length(charset) <= 100
        and length(title_state) <= 100 and length(title) <= 1000
        and octet_length(candidates::text) <= 1048576)
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
    archive_offset bigint,
    archive_length bigint,
    sha256 bytea check (length(sha256) = 32),
    outcome text not null check (length(outcome) <= 40),
    content_type text,
    url text not null check (length(url) <= 2048),
    constraint icons_lengths check (
        length(content_type) <= 300
        and archive_offset < 1099511627776 and archive_length <= 1073741824)
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

-- Hosts, titles and icons that scans exclude. An icon is identified by the SHA-256 of its
-- bytes. list is the imported list to which a pattern belongs, and null if an operator added
-- the pattern. Such a list is a public list of malware or phishing hosts, and the largest ones
-- have about a million names. Updated by the operator.
create table everytab.blocklist (
    kind text not null check (kind in ('hostname', 'suffix', 'title', 'sha256')),
    pattern text not null check (length(pattern) between 1 and 300),
    reason text,
    added_at timestamptz not null default now(),
    list text,
    primary key (kind, pattern)
);
-- Live crawls poll for new patterns.
create index blocklist_added on everytab.blocklist (added_at);
-- import_list keeps both tables consistent. A foreign key would run a trigger for each of a
-- million rows.
create index blocklist_list on everytab.blocklist (list) where list is not null;

create table everytab.imported_lists (
    list text primary key check (length(list) between 1 and 100),
    source text not null check (length(source) between 1 and 1000),
    imported_at timestamptz not null default now(),
    patterns bigint not null check (patterns >= 0)
);

-- Imported lists overlap. The blocklist stores each pattern once, with one list's name. This
-- table stores the other lists that contain the pattern, so that the pattern remains when the
-- first list drops it.
create table everytab.also_listed (
    list text not null,
    kind text not null,
    pattern text not null,
    primary key (list, kind, pattern)
);

-- A copy of the blocklist from the scan's start, because bundles must not depend on later
-- changes. An icon job loads the patterns that operators added, and sends no requests to these
-- hosts. Imported patterns, of which there may be a million, are compared when hosts are loaded
-- instead.
create table everytab.scan_blocklist (
    scan integer not null,
    kind text not null,
    pattern text not null,
    imported boolean not null default false,
    primary key (scan, kind, pattern)
);
create index scan_blocklist_by_hand on everytab.scan_blocklist (scan, kind) where not imported;

-- Hosts, domains (with all hosts below them) and networks that were excluded while the scan was
-- running. Append-only, because requests may have been sent before an exclusion. version
-- numbers a scan's exclusions in commit order, so that a worker can load those after the last
-- version that it has.
create table everytab.scan_exclusions (
    scan integer not null references everytab.scans (scan),
    version integer not null check (version > 0),
    kind text not null check (kind in ('hostname', 'suffix', 'network')),
    pattern text not null check (length(pattern) between 1 and 300),
    excluded_at timestamptz not null default clock_timestamp(),
    primary key (scan, version),
    unique (scan, kind, pattern)
);

-- Live crawls: workers fetch the web themselves. These tables store their state.

-- A slot is the unit that a crawl worker leases. All sites are divided by hash into 256 fixed
-- slots, which all crawls share. Only the worker that holds a slot sends requests to the slot's
-- hosts. Slots are not jobs: they never complete and have neither attempts nor a deadline.
-- Updated by leases, renewals and checkpoints. The slot has read exactly those rows in links
-- that are visible in its cursor.
create table everytab.slots (
    slot smallint primary key check (slot between 0 and 255),
    lease_number integer not null default 0,
    deaths smallint not null default 0,
    checkpoint bigint not null default 0,
    lease_token uuid,
    lease_until timestamptz,
    isolated_until timestamptz,
    holder text check (length(holder) <= 40),
    cursor pg_snapshot not null default '1:1:',
    urgent_cursor pg_snapshot not null default '1:1:',
    check ((lease_token is not null) = (lease_until is not null and holder is not null))
) with (fillfactor = 10);
insert into everytab.slots (slot) select generate_series(0, 255);

-- The active crawl workers, from which each worker's share of the slots is computed. Updated by
-- renewals. Rows are deleted when their worker is gone.
create table everytab.workers (
    worker text primary key check (length(worker) <= 40),
    seen_at timestamptz not null
) with (fillfactor = 50);

-- A live crawl. Updated by its owner, by page reservations, by quotas, and when it ends. owner
-- is operator, or key:<id> for an HTTP service key. rate and min_delay_ms limit the crawl's
-- requests. paused_by is the reason why the crawl is paused: the operator, or a key's quota or
-- revocation. A crawl that a quota paused resumes automatically. run is the run whose jobs
-- write an ended crawl's indexes, lists and documents next to its archives. Includes and
-- excludes may change while the crawl runs: settings has the latest ones, and patterns_version
-- is their version, so that workers know when to read settings again. dropping_at and
-- dropped_at are when an ended crawl's removal started and finished. After the removal this row
-- and the crawl's totals remain, so that its number and name are not reused and clients can
-- still see that the crawl has ended.
create table everytab.crawls (
    crawl integer generated always as identity primary key,
    id uuid not null unique,
    seeding boolean not null default true,
    seeds bigint not null default 0 check (seeds >= 0),
    page_limit bigint check (page_limit > 0),
    budget_left bigint check (budget_left >= 0),
    max_store_bytes bigint check (max_store_bytes > 0),
    started_at timestamptz not null default now(),
    ends_at timestamptz,
    finished_at timestamptz,
    state text not null default 'running' check (state in ('running', 'paused', 'ended')),
    ended_by text check (ended_by in ('empty', 'limit', 'cancel', 'time', 'store')),
    name text not null unique check (length(name) between 1 and 100),
    owner text not null check (length(owner) between 1 and 100),
    store text not null,
    settings jsonb not null,
    rate double precision check (rate > 0 and rate <= 100000),
    min_delay_ms integer check (min_delay_ms between 0 and 3600000),
    paused_by text
        check (paused_by in ('operator', 'key_revoked', 'quota_pages', 'quota_bytes')),
    run integer unique references everytab.runs,
    patterns_version integer not null default 1 check (patterns_version > 0),
    dropping_at timestamptz,
    dropped_at timestamptz,
    check ((state = 'ended') = (ended_by is not null)),
    check ((page_limit is null) = (budget_left is null)),
    constraint crawls_paused check ((state = 'paused') = (paused_by is not null)),
    constraint crawls_dropped check (
        (dropping_at is null or state = 'ended')
        and (dropped_at is null or dropping_at is not null))
) with (fillfactor = 50);
create index crawls_open on everytab.crawls (crawl) where state <> 'ended';
create index crawls_owner on everytab.crawls (owner, crawl) where state <> 'ended';

-- If a crawl's includes and excludes have changed, all their versions, including the first.
-- Append-only.
create table everytab.crawl_patterns (
    crawl integer not null references everytab.crawls,
    version integer not null check (version > 0),
    changed_at timestamptz not null default clock_timestamp(),
    include jsonb not null check (jsonb_typeof(include) = 'array'),
    exclude jsonb not null check (jsonb_typeof(exclude) = 'array'),
    primary key (crawl, version)
);

-- A crawl's counts for each slot: known = pending + captured + failed + refused + left. Updated
-- when the slot's holder records a checkpoint, and closed when the crawl ends. sent counts the
-- links that the slot's holder has recorded, and read the links that it has merged. When all
-- sent links have been read and nothing is pending, the crawl ends. failures counts failed URLs
-- by outcome.
create table everytab.crawl_slots (
    crawl integer not null references everytab.crawls,
    slot smallint not null references everytab.slots,
    closed boolean not null default false,
    reserved bigint not null default 0 check (reserved >= 0),
    sent bigint not null default 0 check (sent >= 0),
    read bigint not null default 0 check (read >= 0),
    known bigint not null default 0 check (known >= 0),
    pending bigint not null default 0 check (pending >= 0),
    captured bigint not null default 0 check (captured >= 0),
    failed bigint not null default 0 check (failed >= 0),
    stored_bytes bigint not null default 0 check (stored_bytes >= 0),
    refused jsonb not null default '{}',
    "left" jsonb not null default '{}',
    links_refused jsonb not null default '{}',
    failures jsonb not null default '{}',
    primary key (crawl, slot)
) with (fillfactor = 50);

-- An ended crawl's final totals. Without this table, a list of crawls would add up 256 slots
-- and their reasons, which took 1.7 ms per crawl. Append-only.
create table everytab.crawl_totals (
    crawl integer primary key references everytab.crawls,
    sent bigint not null,
    read bigint not null,
    known bigint not null,
    pending bigint not null,
    reserved bigint not null,
    captured bigint not null,
    failed bigint not null,
    stored_bytes bigint not null,
    refused jsonb not null,
    "left" jsonb not null,
    links_refused jsonb not null,
    failures jsonb not null default '{}'
);

-- A host's delay, robots.txt and addresses, shared by all crawls. Updated when the slot's
-- holder records a checkpoint. Failures and pauses belong to an origin (scheme, host and port),
-- because one port can be dead while another responds. put_hosts describes the objects in the
-- array origins.
create table everytab.frontier_hosts (
    slot smallint not null,
    host_hash bigint not null,
    site_hash bigint not null,
    free_at timestamptz not null,
    robots_until timestamptz,
    addresses_until timestamptz,
    delay_ms integer not null check (delay_ms >= 0),
    response_ms integer not null check (response_ms >= 0),
    crawl_delay_ms integer check (crawl_delay_ms >= 0),
    hostname text not null check (length(hostname) between 1 and 255),
    robots bytea,
    addresses text[],
    origins jsonb check (jsonb_typeof(origins) = 'array'),
    primary key (slot, host_hash)
) with (fillfactor = 80);
-- A site's hosts are loaded together, because they share the site's budget.
create index frontier_hosts_site on everytab.frontier_hosts (slot, site_hash);

-- A host's packed state in a crawl. A chunk is written once. Writing a snapshot deletes the
-- chunks before it. Some time after a crawl has ended, all its chunks are deleted.
create table everytab.frontier_chunks (
    crawl integer not null,
    slot smallint not null,
    is_snapshot boolean not null,
    host_hash bigint not null,
    seq integer not null check (seq > 0),
    known integer not null check (known >= 0),
    pending integer not null check (pending >= 0),
    data bytea not null,
    primary key (slot, crawl, host_hash, seq)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- When a host is next due in a live crawl: one row per host and crawl while any URL on the host
-- is pending. The times are not stored in frontier_chunks, because a search would find chunks
-- that newer ones have replaced. Updated by checkpoints, but seldom while the host remains due.
-- The index contains the crawl before the time. Otherwise each call would read all hosts in a
-- paused crawl.
create table everytab.frontier_due (
    slot smallint not null,
    crawl integer not null,
    host_hash bigint not null,
    next_due timestamptz not null,
    primary key (slot, crawl, host_hash)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index frontier_due_of_crawl on everytab.frontier_due (slot, crawl, next_due);

-- Links that slots have yet to merge. Each row contains links in one crawl for a group of 16
-- slots, and slot_mask selects slots within this group. Append-only. A partition is dropped
-- when every slot has read it. After the database is restored from a backup, begin_epoch writes
-- the unread links again.
create table everytab.links (
    xid xid8 not null default pg_current_xact_id(),
    id bigint not null generated always as identity,
    hour integer not null,
    crawl integer not null,
    slot_mask integer not null check (slot_mask between 1 and 65535),
    amount integer not null check (amount > 0),
    slot_group smallint not null check (slot_group between 0 and 15),
    is_urgent boolean not null,
    data bytea not null
) partition by range (hour);
create index links_unread on everytab.links (slot_group, is_urgent, xid, id);

-- The archives to which live crawls' fetches refer. Each name is stored once, because it takes
-- about 140 bytes. Append-only.
create table everytab.crawl_archives (
    archive integer primary key generated always as identity,
    crawl integer not null,
    object text not null,
    unique (crawl, object)
);
-- For finding out whether another crawl refers to an archive.
create index crawl_archives_object on everytab.crawl_archives (object);

-- The final result for each fetched URL. Append-only, except that clear_forgotten removes a
-- forgotten page's contents. Partitions are created before the crawls whose rows they contain.
-- is_no_page is true for a requisite or a sitemap and null for a page. If a fetch has no body
-- of its own because an earlier record has the same body, the columns body_* locate this
-- record: where and when it was stored, and its URL and hashes if the URL differs.
--
-- The via columns specify the URL in the same crawl that links or redirects to this one. If
-- this URL's row is recorded, via_url_hash is its hash, and via_host_hash is the hash of its
-- host if the host differs. Otherwise, and always if that URL is a robots.txt, the column via
-- has the URL itself. Hashes are preferred because they take 12 bytes per fetch, and URLs take
-- 70. All three columns are null for a seed, for a guessed sitemap, and if the worker had no
-- memory left for the URL. certificate is the problem with the server's certificate (null: no
-- problem, or no TLS).
create table everytab.fetches (
    xid xid8 not null default pg_current_xact_id(),
    id bigint not null generated always as identity,
    host_hash bigint not null,
    url_hash bigint not null,
    at timestamptz not null,
    record_offset bigint,
    body_offset bigint,
    crawl integer not null,
    lease_number integer not null,
    duration_ms integer,
    bytes integer,
    record_length integer,
    body_length integer,
    slot smallint not null,
    epoch smallint not null default 0,
    depth smallint not null,
    status smallint,
    outcome text not null check (length(outcome) <= 40),
    truncated text check (length(truncated) <= 20),
    sha256 bytea check (length(sha256) = 32),
    mime text, charset text, language text,
    url text not null,
    title text, etag text, last_modified text, redirect text,
    archive integer, body_archive integer,
    body_at timestamptz, body_url text,
    is_no_page boolean,
    body_host_hash bigint, body_url_hash bigint,
    via_host_hash bigint, via_url_hash bigint, via text,
    certificate text check (length(certificate) <= 20)
) partition by range (crawl);
create unique index fetches_url on everytab.fetches (crawl, host_hash, url_hash);
-- Transactions from an earlier epoch may have greater ids than those in the current epoch.
create index fetches_feed on everytab.fetches (crawl, epoch, xid, id);
create index fetches_slot on everytab.fetches (crawl, slot);
-- For finding fetches that refer to the body of a URL that is being forgotten. Other fetches
-- are not indexed.
create index fetches_body on everytab.fetches (crawl, body_host_hash, body_url_hash)
 where body_url_hash is not null;
-- Fetches that were not captured, by outcome. These are a few among millions. Captured ones are
-- not indexed.
create index fetches_uncaptured on everytab.fetches (crawl, outcome, epoch, xid, id)
 where outcome not in ('ok', 'redirected', 'empty_body', 'not_modified');

-- The text of captured pages, for full-text search. If a crawl has settings.search = 'on', this
-- has one row per page. Partitioned like fetches, but a partition is created only when such a
-- crawl starts. Append-only, except that clear_forgotten deletes forgotten pages. Snippets are
-- cut from text.
create table everytab.fetch_texts (
    crawl integer not null,
    host_hash bigint not null,
    url_hash bigint not null,
    words tsvector not null,
    text text not null check (length(text) <= 65536),
    primary key (crawl, host_hash, url_hash)
) partition by range (crawl);
create index fetch_texts_words on everytab.fetch_texts using gin (words);

-- URLs and sites whose captures up to forgotten_at must be removed. From then on functions no
-- longer return these captures. `crawl gc` removes them from the archives and then sets
-- cleared_at. If a URL or site is forgotten again, forgotten_at is updated.
create table everytab.forgotten (
    number integer primary key generated always as identity,
    kind text not null check (kind in ('url', 'site')),
    -- The URL's normalized key, or the site's name.
    name text not null check (length(name) between 1 and 2048),
    -- The hash of the URL's host, or of the site.
    host_hash bigint not null,
    url_hash bigint check ((url_hash is null) = (kind = 'site')),
    -- The site's slot.
    slot smallint check ((slot is null) = (kind = 'url')),
    forgotten_at timestamptz not null default clock_timestamp(),
    cleared_at timestamptz,
    unique (kind, name)
);
create index forgotten_url on everytab.forgotten (host_hash, url_hash);

-- One row for each time that a database with crawls was restored from a backup. A restored
-- server assigns transaction ids from the start, so queries order rows by epoch before they
-- order them by transaction id. epoch is the number of restores so far.
create table everytab.restores (
    epoch smallint primary key check (epoch > 0),
    restored_at timestamptz not null default now()
);

-- Lists that were imported for live crawls' filters. Each version is a row that never changes,
-- because a crawl uses the version with which it started. The object contains hashes of names,
-- or address ranges with their countries (crates/filters). categories maps each category to its
-- number of names, or `ranges` to the number of address ranges. entries is the sum of these
-- numbers.
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

-- Filters as their owners wrote them. Each update by the owner increments the version. A crawl
-- uses a copy of the version with which it started.
create table everytab.filters (
    id uuid primary key,
    version integer not null default 1 check (version > 0),
    changed_at timestamptz not null default now(),
    owner text not null check (length(owner) between 1 and 100),
    name text not null check (name ~ '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$'),
    body jsonb not null,
    unique (owner, name)
) with (fillfactor = 50);

-- Request rate limits for all of an owner's crawls together. Updated by the owner.
create table everytab.owner_limits (
    owner text primary key check (length(owner) between 1 and 100),
    rate double precision check (rate > 0 and rate <= 100000),
    min_delay_ms integer check (min_delay_ms between 0 and 3600000)
);

-- Rules that an owner's crawls obey in addition to each site's robots.txt. They can only
-- restrict a crawl further. site is a domain with all hosts below it (null: every host). rules
-- are robots.txt lines without a User-agent line. Rows are deleted by their owner.
create table everytab.robots_overrides (
    id uuid primary key,
    delay_ms integer check (delay_ms between 0 and 300000),
    owner text not null check (length(owner) between 1 and 100),
    site text check (length(site) between 1 and 255),
    user_agent text check (user_agent ~ '^[A-Za-z_-]{1,64}$'),
    rules text check (length(rules) between 1 and 4096
                      and rules !~* '(^|[\r\n])[ \t]*user-?[ \t]*agent'),
    check (num_nonnulls(delay_ms, user_agent, rules) > 0)
);
create index robots_overrides_owner on everytab.robots_overrides (owner);

-- A schedule starts a crawl repeatedly: every every_s seconds, or at second at_s of the UTC day
-- on the days in weekdays, a mask whose first bit is Monday. Updated when the schedule is due,
-- and deleted by its owner. If the last crawl has not ended when the schedule is due, this
-- start is skipped and counted.
create table everytab.schedules (
    id uuid primary key,
    next_at timestamptz not null,
    created_at timestamptz not null default clock_timestamp(),
    fired bigint not null default 0 check (fired >= 0),
    skipped bigint not null default 0 check (skipped >= 0),
    every_s integer check (every_s between 60 and 31536000),
    at_s integer check (at_s between 0 and 86399),
    last_crawl integer references everytab.crawls,
    weekdays smallint check (weekdays between 1 and 127),
    last_error text check (length(last_error) <= 200),
    owner text not null check (length(owner) between 1 and 100),
    name text not null check (length(name) between 1 and 100),
    store text not null,
    settings jsonb not null,
    unique (owner, name),
    check (num_nonnulls(every_s, at_s) = 1),
    check ((at_s is null) = (weekdays is null))
) with (fillfactor = 50);
create index schedules_due on everytab.schedules (next_at);

-- A schedule's seeds, packed like links.
create table everytab.schedule_links (
    schedule uuid not null references everytab.schedules on delete cascade,
    slot_mask integer not null check (slot_mask between 1 and 65535),
    amount integer not null check (amount > 0),
    slot_group smallint not null check (slot_group between 0 and 15),
    data bytea not null
);
create index schedule_links_schedule on everytab.schedule_links (schedule);

-- The HTTP service: keys, their usage, their crawls, and stored responses to repeated requests.
-- The role everytab_api reads and writes these tables only by functions in schema api.

-- The HTTP service's keys and their limits. The operator creates and revokes keys. Keys are
-- never deleted, because crawls refer to them. A secret has 256 random bits, and only its
-- digest is stored. A null limit means unlimited. ports are the ports that a key's URLs may
-- use. A URL with another port is rejected before it is submitted. Crawls copy ports into their
-- settings, so that workers follow links to these ports only.
create table everytab.api_keys (
    key text primary key check (key ~ '^[a-z2-7]{12}$'),
    secret_sha256 bytea not null check (length(secret_sha256) = 32),
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    requests_per_second double precision not null
        check (requests_per_second > 0 and requests_per_second <= 100000),
    burst integer not null check (burst between 1 and 1000000),
    max_crawls integer check (max_crawls >= 0),
    rate integer check (rate > 0),
    min_delay_ms integer not null default 0 check (min_delay_ms between 0 and 3600000),
    urls_a_day bigint check (urls_a_day >= 0),
    pages_a_day bigint check (pages_a_day >= 0),
    max_bytes bigint check (max_bytes >= 0),
    name text not null check (length(name) between 1 and 100),
    ports integer[] not null default '{80,443,8080,8443}'
        check (cardinality(ports) between 1 and 64 and 0 < all (ports) and 65536 > all (ports))
);
create unique index api_keys_name on everytab.api_keys (name) where revoked_at is null;

-- A key's usage, in one row because every request updates it: the leaky bucket (level, at), the
-- bucket for urgent URLs, and the number of URLs submitted that day. pages, bytes and
-- open_crawls were counted at counted_at. ended_pages and ended_bytes are the part that belongs
-- to ended crawls and need not be counted again. ended_pages covers that day, and ended_bytes
-- covers all days. standing is the crawl that receives URLs submitted without a crawl.
create table everytab.api_usage (
    key text primary key references everytab.api_keys,
    level double precision not null default 0,
    at timestamptz not null default now(),
    urgent_level double precision not null default 0,
    urgent_at timestamptz not null default now(),
    urls bigint not null default 0,
    pages bigint not null default 0,
    bytes bigint not null default 0,
    ended_pages bigint not null default 0,
    ended_bytes bigint not null default 0,
    counted_at timestamptz not null default '-infinity',
    urls_day date not null default '-infinity',
    ended_day date not null default '-infinity',
    standing_day date not null default '-infinity',
    standing integer references everytab.crawls,
    open_crawls integer not null default 0
) with (fillfactor = 10);

-- Keys' crawls. pages_before is the number of pages that the crawl had captured when it was
-- first counted that day. Updated once a day, when a standing crawl is replaced, and when the
-- crawl has ended.
create table everytab.api_crawls (
    crawl integer primary key references everytab.crawls,
    day date not null default (clock_timestamp() at time zone 'UTC')::date,
    pages_before bigint not null default 0,
    is_standing boolean not null default false,
    is_to_close boolean not null default false,
    is_counted boolean not null default false,
    key text not null references everytab.api_keys
) with (fillfactor = 80);
create index api_crawls_key on everytab.api_crawls (key, crawl);
create index api_crawls_uncounted on everytab.api_crawls (key) where not is_counted;
create index api_crawls_to_close on everytab.api_crawls (crawl) where is_to_close;

-- Responses to requests with an Idempotency-Key. For 24 hours, repeating the request returns
-- the stored response. The key's next request with an Idempotency-Key deletes older responses.
create table everytab.api_answers (
    key text not null references everytab.api_keys,
    at timestamptz not null default clock_timestamp(),
    name text not null check (length(name) between 1 and 255),
    request_sha256 bytea not null check (length(request_sha256) = 32),
    answer jsonb not null,
    primary key (key, name)
);
create index api_answers_at on everytab.api_answers (key, at);

-- A crawl's URL as functions in schema api return it, with its fetch if there is one.
create type everytab.api_fetch as (
    crawl integer, crawl_id uuid, crawl_name text, store text, media_store text,
    host_hash bigint, url_hash bigint, state text, reason text, url text, at timestamptz,
    duration_ms integer, depth smallint, status smallint, outcome text, bytes integer,
    sha256 bytea, mime text, charset text, language text, title text, redirect text, object text,
    record_offset bigint, record_length integer, body_object text, body_offset bigint,
    body_length integer, truncated text, via text, certificate text
);

-- The result for one submitted URL: an error code, or the crawl that contains the URL.
create type everytab.api_verdict as (
    number bigint, code text, detail jsonb, crawl integer, is_urgent boolean, is_answered boolean
);

-- Keys' webhooks, and the events to send to them. A secret is stored unencrypted, because an
-- HMAC needs it. The worker's role receives a secret only with a lease. everytab_api can write
-- a secret but cannot read it.

-- The URL to which a key's events are sent, and the event types that it receives. Updated by
-- its owner, by leases and by the results that workers record. Only the worker with a valid
-- lease sends the webhook's events. failures counts failed attempts since the last success, and
-- due_at is the earliest time for the next attempt.
create table everytab.webhooks (
    id uuid primary key,
    created_at timestamptz not null default clock_timestamp(),
    due_at timestamptz not null default clock_timestamp(),
    leased_until timestamptz,
    lease_token uuid,
    failing_since timestamptz,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    disabled_at timestamptz,
    old_secret_until timestamptz,
    sent bigint not null default 0 check (sent >= 0),
    dropped bigint not null default 0 check (dropped >= 0),
    failures integer not null default 0 check (failures >= 0),
    last_status smallint,
    key text not null references everytab.api_keys,
    url text not null check (length(url) between 1 and 2048),
    description text check (length(description) between 1 and 200),
    last_outcome text check (length(last_outcome) between 1 and 40),
    disabled_because text
        check (disabled_because in ('requested', 'gone', 'failing', 'key_revoked')),
    events text[] not null
        check (cardinality(events) between 1 and 3
               and events <@ '{crawl.ended,url.done,schedule.skipped}'),
    secret bytea not null check (length(secret) between 24 and 64),
    old_secret bytea check (length(old_secret) between 24 and 64),
    check ((leased_until is null) = (lease_token is null)),
    check ((disabled_at is null) = (disabled_because is null)),
    check ((failing_since is null) = (failures = 0)),
    check ((old_secret is null) = (old_secret_until is null))
) with (fillfactor = 50);
create index webhooks_key on everytab.webhooks (key);

-- Events that must be sent to a webhook. An event is written in the same transaction as the
-- change that it reports, and is deleted when it was sent or given up. id identifies the event
-- to the receiver and is identical in every attempt. body is the request body.
create table everytab.webhook_events (
    number bigint generated always as identity primary key,
    due_at timestamptz not null default clock_timestamp(),
    first_tried_at timestamptz,
    id uuid not null default gen_random_uuid(),
    webhook uuid not null references everytab.webhooks on delete cascade,
    tries integer not null default 0 check (tries >= 0),
    body text not null
) with (autovacuum_vacuum_scale_factor = 0.05);
create index webhook_events_due on everytab.webhook_events (webhook, due_at, number);

-- A webhook as shown to its owner and the operator.
create type everytab.webhook_state as (
    id uuid, key text, url text, events text[], description text, created_at timestamptz,
    disabled_at timestamptz, disabled_because text, failures integer, failing_since timestamptz,
    last_success_at timestamptz, last_failure_at timestamptz, last_outcome text,
    last_status smallint, sent bigint, dropped bigint, pending bigint
);

-- Row types for calls that send arrays of rows. Each value is sent with its column's name, so
-- that two columns with the same type cannot be confused.
create type everytab.capture_row as (
    hash bigint, hostname text, https boolean, fetch_time timestamptz, path text,
    warc_offset bigint, warc_length bigint);

create type everytab.page_row as (
    host_no integer, hostname text, https boolean, frameable boolean, framing_rule text,
    charset text, title_state text, title text, candidates text, outcome text);

create type everytab.icon_row as (
    host_no integer, candidate_no smallint, touch boolean, width integer, height integer,
    bytes integer, archive_offset bigint, archive_length bigint, sha256 bytea, outcome text,
    content_type text, url text);

create type everytab.fetch_row as (
    crawl integer, host_hash bigint, url_hash bigint, url text, at timestamptz,
    duration_ms integer, depth smallint, status smallint, outcome text, bytes integer,
    sha256 bytea, mime text, charset text, language text, title text, etag text,
    last_modified text, redirect text, object text, record_offset bigint, record_length integer,
    body_object text, body_offset bigint, body_length integer, body_at timestamptz, body_url text,
    body_host_hash bigint, body_url_hash bigint, truncated text, text text, is_no_page boolean,
    via_host_hash bigint, via_url_hash bigint, via text, certificate text);

create type everytab.link_row as (
    crawl integer, slot_group smallint, slot_mask integer, is_urgent boolean, amount integer,
    data bytea);

create type everytab.chunk_row as (
    crawl integer, host_hash bigint, seq integer, is_snapshot boolean, next_due timestamptz,
    known integer, pending integer, data bytea);

create type everytab.host_row as (
    host_hash bigint, site_hash bigint, hostname text, free_at timestamptz, delay_ms integer,
    response_ms integer, crawl_delay_ms integer, origins jsonb, robots bytea,
    robots_until timestamptz, addresses text[], addresses_until timestamptz);

create type everytab.new_crawl as (
    id uuid, name text, owner text, store text, settings jsonb, page_limit bigint,
    ends_at timestamptz, max_store_bytes bigint);
