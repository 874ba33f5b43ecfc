-- The tables of the coordinator: those of the queue, of scans, of live crawls, of their HTTP
-- service. Data tables are append-only; the others say when their rows are updated or deleted.

create type everytab.run_kind as enum ('scan', 'crawl');
create type everytab.run_state as enum
    ('running', 'paused', 'finished', 'finished_with_discards', 'cancelled');
create type everytab.job_kind as enum
    ('index', 'warc', 'icon', 'bundle-shard', 'search', 'map', 'publish', 'crawl-index',
     'crawl-close');
create type everytab.job_state as enum ('pending', 'leased', 'completed', 'discarded');

-- Each scan, and the closing of each live crawl, is a run of the queue: stages, jobs, their results
-- and their events belong to it. One row a run, read by every lease call and seldom updated, so
-- that a lease call does not step over old versions of the row. digests names what the run's output
-- depends on besides its input, such as the icon encoder: a worker whose digest differs takes no
-- jobs of the kinds that need it. deadline_ms is how long one lease may last in all (null: by kind,
-- coordinator.deadline). archive_rate is how many requests a second the fleet sends to the run's
-- source, all workers together (null: no limit).
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

-- Counters of a run's stages, updated by every completion.
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

-- About 75,000 rows a scan, at most 150 bytes each: small, and updated often. No index holds a
-- column that a renewal changes, so renewals are HOT updates. A job waits at not_before =
-- 'infinity' while a job whose output it reads is performed again. current_item is the item that a
-- job under isolation handles; a sweep moves it into the event of the crash.
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

-- One row for each completion. Counts are summed from this table, never from the data tables.
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
-- Results are appended and summed by run: a BRIN index finds them as well as a B-tree, and costs a
-- completion nothing.
create index job_results_run on everytab.job_results using brin (run)
    with (pages_per_range = 16, autosummarize = on);

-- What happened to a job besides completing: retry, release, expired, discard, reopened, revoked.
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

-- The number of a scan is that of its run. hosts, pages and icons are partitioned by scan, so that
-- an old scan is dropped by partition and not deleted row by row. Lengths are limited because a
-- stolen token of a worker must not fill the disk, nor make the scan read what it should not.
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
    warc_length bigint not null check (warc_length > 0),
    constraint hosts_warc_range
        check (warc_offset < 1099511627776 and warc_length <= 1073741824)
) partition by list (scan);
create index hosts_hash on everytab.hosts (hash);

-- A title has at most 300 characters; the candidates of a page are at most 51 URLs and 64 KiB of
-- data: URLs.
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

-- What scans leave out. Icons are known by the SHA-256 of their bytes. Patterns of an imported list
-- (public lists of malware and phishing hosts, of a million names) say its name; those that an
-- operator added have none. Updated by the operator.
create table everytab.blocklist (
    kind text not null check (kind in ('hostname', 'suffix', 'title', 'sha256')),
    pattern text not null check (length(pattern) between 1 and 300),
    reason text,
    added_at timestamptz not null default now(),
    list text,
    primary key (kind, pattern)
);
-- Live crawls ask again and again what was added.
create index blocklist_added on everytab.blocklist (added_at);
-- import_list keeps both tables in step; a foreign key would cost a trigger for each of a million
-- rows.
create index blocklist_list on everytab.blocklist (list) where list is not null;

create table everytab.imported_lists (
    list text primary key check (length(list) between 1 and 100),
    source text not null check (length(source) between 1 and 1000),
    imported_at timestamptz not null default now(),
    patterns bigint not null check (patterns >= 0)
);

-- Imported lists name the same hosts. The blocklist keeps a pattern once, with the name of one
-- list; here are the other lists that name it, so that it stays when that list drops it.
create table everytab.also_listed (
    list text not null,
    kind text not null,
    pattern text not null,
    primary key (list, kind, pattern)
);

-- A copy of the blocklist as it was when the scan started: the bundles depend on this copy only.
-- An icon job gets the patterns that operators added, and requests nothing from these hosts;
-- imported ones are a million, and are compared where hosts are loaded.
create table everytab.scan_blocklist (
    scan integer not null,
    kind text not null,
    pattern text not null,
    imported boolean not null default false,
    primary key (scan, kind, pattern)
);
create index scan_blocklist_by_hand on everytab.scan_blocklist (scan, kind) where not imported;

-- What was excluded from a scan while it ran: a host, a domain with all hosts below it, or a
-- network. Append-only: what was asked of a host before its exclusion stays a fact. Versions count
-- the exclusions of a scan in the order in which they were committed, so a worker asks for those
-- after the last one that it knows.
create table everytab.scan_exclusions (
    scan integer not null references everytab.scans (scan),
    version integer not null check (version > 0),
    kind text not null check (kind in ('hostname', 'suffix', 'network')),
    pattern text not null check (length(pattern) between 1 and 300),
    excluded_at timestamptz not null default clock_timestamp(),
    primary key (scan, version),
    unique (scan, kind, pattern)
);

-- The live crawl: what a fleet knows of the web that it fetches itself.

-- The unit of lease: one of 256 fixed slices of all sites by hash, shared by all crawls. While a
-- worker holds a slot, it alone asks the slot's hosts. Slots are no jobs: they never complete, have
-- no attempts and no deadline. Updated by leases, renewals and checkpoints. A cursor says which
-- rows of links the slot has read: those that are visible in it.
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

-- The workers that crawl, so that each knows its share of the slots. Updated by renewals; rows of
-- workers that have gone are deleted.
create table everytab.workers (
    worker text primary key check (length(worker) <= 40),
    seen_at timestamptz not null
) with (fillfactor = 50);

-- What one submission asked for. Updated by its owner, by reservations of pages and at its end.
-- An owner is operator, or key:<id> for a key of the HTTP service. rate and min_delay_ms say how
-- often hosts are asked for it, and paused_by who paused it: what a quota paused goes on by itself.
-- run has the jobs that write indexes, lists and documents beside the archives of a crawl that has
-- ended. Includes and excludes may change while it runs: settings has the newest ones, and
-- patterns_version says how often they have changed, so that workers read them again. dropping_at
-- and dropped_at are when the removal of a crawl that has ended began and was over: then its row
-- and its sums are all that is left, so that its number and name are not used again, and whoever
-- knows them still finds it ended.
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

-- The sums of a crawl, by slot: known = pending + captured + failed + refused + left. Updated by
-- the checkpoints of the slot's holder, and closed when the crawl ends. sent counts links that the
-- slot's holder recorded, read those that it merged: a crawl has ended when all that was sent has
-- been read and nothing is pending. failures has the failed URLs by outcome.
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

-- The sums of a crawl that has ended, which change no more. To add up those of 256 slots, with
-- their reasons, took 1.7 ms a crawl and list of crawls. Append-only.
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

-- A host's manners, for all crawls. Updated by the checkpoints of the slot's holder. Failures and
-- pauses belong to an origin of a host (scheme, host and port), because one port can be dead while
-- another answers: put_hosts says what an object of the array origins holds.
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
-- A site is loaded whole, for its budget is of all its hosts.
create index frontier_hosts_site on everytab.frontier_hosts (slot, site_hash);

-- What a crawl knows of a host, packed. A chunk is written once; those before a snapshot are
-- deleted when it is written, and all of a crawl some time after its end.
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

-- When something of a host is due in a live crawl: one row a host and crawl, while anything is
-- pending there. Chunks with times of their own would be found by those that newer ones have
-- overtaken. Updated by checkpoints, but seldom while the host stays due. The index begins with the
-- crawl: by slot and time alone, all hosts of a crawl that is paused were walked by each call.
create table everytab.frontier_due (
    slot smallint not null,
    crawl integer not null,
    host_hash bigint not null,
    next_due timestamptz not null,
    primary key (slot, crawl, host_hash)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index frontier_due_of_crawl on everytab.frontier_due (slot, crawl, next_due);

-- Links on their way to the slots that merge them: one row a checkpoint, crawl and group of 16
-- slots; the mask says which of these. Append-only. A partition is dropped when every slot has read
-- it. A database that came back from a backup writes those that are not read once more
-- (begin_epoch).
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

-- The archives of live crawls that fetches name, each once: the name of an archive takes about 140
-- bytes. Append-only.
create table everytab.crawl_archives (
    archive integer primary key generated always as identity,
    crawl integer not null,
    object text not null,
    unique (crawl, object)
);
-- Whether any other crawl names an archive.
create index crawl_archives_object on everytab.crawl_archives (object);

-- How each URL's turn ended. Append-only. Partitions are made before the crawls whose rows they
-- hold. is_no_page is true of a requisite or a sitemap, null of pages. The columns body_* say, of a
-- fetch that has no body of its own because an earlier record has the same one, where and when that
-- was stored, and its URL with the hashes where it is another one. via_url_hash is the hash of the
-- URL that links or redirects to it, of the same crawl, and via_host_hash that of its host where it
-- is another one; the text via has it instead while the row of that URL is not recorded: hashes
-- take 12 bytes a fetch, and texts 70. Null of seeds. certificate is what is wrong with the
-- certificate of its server (null: nothing, or no TLS).
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
-- Transactions of an earlier epoch may have greater ids than those of this one.
create index fetches_feed on everytab.fetches (crawl, epoch, xid, id);
create index fetches_slot on everytab.fetches (crawl, slot);
-- Who forgets a URL looks for those that have its body. Other fetches are not in it.
create index fetches_body on everytab.fetches (crawl, body_host_hash, body_url_hash)
 where body_url_hash is not null;
-- Those that were not captured, by outcome: a few among millions. The others cost nothing.
create index fetches_uncaptured on everytab.fetches (crawl, outcome, epoch, xid, id)
 where outcome not in ('ok', 'redirected', 'empty_body', 'not_modified');

-- The text of captured pages, for full-text search: one row a page of crawls that are searched
-- (settings.search), beside fetches. Partitions as those of fetches, made where such a crawl
-- starts. Append-only. The text is what snippets are cut from.
create table everytab.fetch_texts (
    crawl integer not null,
    host_hash bigint not null,
    url_hash bigint not null,
    words tsvector not null,
    text text not null check (length(text) <= 65536),
    primary key (crawl, host_hash, url_hash)
) partition by range (crawl);
create index fetch_texts_words on everytab.fetch_texts using gin (words);

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

-- Each time the database came back from a backup with crawls in it. A server that was restored into
-- gives out transaction ids anew, so what is ordered by them is ordered by its epoch first: how
-- many restores there were.
create table everytab.restores (
    epoch smallint primary key check (epoch > 0),
    restored_at timestamptz not null default now()
);

-- Lists that were imported for filters of live crawls, each version a row, written once: a crawl
-- names the version with which it was started. The object has the names as hashes, or ranges of
-- addresses with their countries (crates/filters); entries counts them, by category.
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

-- How often hosts are asked for all crawls of an owner together. Updated by the owner.
create table everytab.owner_limits (
    owner text primary key check (length(owner) between 1 and 100),
    rate double precision check (rate > 0 and rate <= 100000),
    min_delay_ms integer check (min_delay_ms between 0 and 3600000)
);

-- What an owner's crawls obey beside the robots.txt of sites; it only tightens. site is a domain
-- with all hosts below it, null: every host. rules are lines of robots.txt without a User-agent.
-- Rows are deleted by their owner.
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

-- A crawl that is started again and again: each every_s seconds, or at at_s seconds of the UTC day
-- on the weekdays of a mask whose first bit is Monday. Updated when it is due, and deleted by its
-- owner. A time at which its last crawl has not ended is skipped and counted.
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

-- The seeds of a schedule, packed as links are.
create table everytab.schedule_links (
    schedule uuid not null references everytab.schedules on delete cascade,
    slot_mask integer not null check (slot_mask between 1 and 65535),
    amount integer not null check (amount > 0),
    slot_group smallint not null check (slot_group between 0 and 15),
    data bytea not null
);
create index schedule_links_schedule on everytab.schedule_links (schedule);

-- The HTTP service: keys, what each has used, the crawls that are a key's, and answers that are
-- given again. The role everytab_api reads and writes them by functions of schema api alone.

-- Who may use the service, and how much. Made and revoked by the operator, never deleted: crawls
-- name them. Of the secret, 256 random bits, only the digest is kept. A limit that is null is none.
-- ports are those that URLs of the key may name. Its crawls have them among their settings, so that
-- every worker follows links to these ports alone, and URLs are refused before they are submitted.
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

-- What a key has used. Updated by every request: its leaky bucket (level, at), the bucket of its
-- urgent URLs, and the URLs submitted that day; so all of this is one row. pages, bytes and
-- open_crawls were counted at counted_at; of these, ended_pages are those of that day and
-- ended_bytes those of all days that crawls have which have ended since and need not be counted
-- again. standing is the crawl to which URLs go that name none.
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

-- The crawls of keys. pages_before is what the crawl had captured when it was first counted that
-- day. Updated once a day, when a standing crawl is replaced, and when the crawl has ended.
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

-- Answers to requests that clients named, for 24 hours: the same request is answered so again.
-- Older ones are deleted by the key's next one.
create table everytab.api_answers (
    key text not null references everytab.api_keys,
    at timestamptz not null default clock_timestamp(),
    name text not null check (length(name) between 1 and 255),
    request_sha256 bytea not null check (length(request_sha256) = 32),
    answer jsonb not null,
    primary key (key, name)
);
create index api_answers_at on everytab.api_answers (key, at);

-- A URL of a crawl, and its fetch where it was fetched, as functions of schema api answer it.
create type everytab.api_fetch as (
    crawl integer, crawl_id uuid, crawl_name text, store text, media_store text,
    host_hash bigint, url_hash bigint, state text, reason text, url text, at timestamptz,
    duration_ms integer, depth smallint, status smallint, outcome text, bytes integer,
    sha256 bytea, mime text, charset text, language text, title text, redirect text, object text,
    record_offset bigint, record_length integer, body_object text, body_offset bigint,
    body_length integer, truncated text, via text, certificate text
);

-- What becomes of one URL that was submitted: refused with a code, or the crawl where it is found.
create type everytab.api_verdict as (
    number bigint, code text, detail jsonb, crawl integer, is_urgent boolean, is_answered boolean
);

-- Webhooks of keys, and the events that are to be sent to them. A secret is kept as it is, because
-- an HMAC needs it: the worker's role reads it with a lease alone, and everytab_api writes it and
-- cannot read it back.

-- Where a key wants to be told of what. Updated by its owner, by leases and by what workers record.
-- While a lease is valid one worker sends the webhook's events; failures counts failed attempts
-- since the last one that succeeded, and due_at is when the next may begin.
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

-- Events on their way to a webhook, each written in the transaction that did what it tells of, and
-- deleted when it was sent or given up. id is what the receiver knows it by, the same at each
-- attempt; body is what is sent.
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

-- A webhook as its owner and the operator see it.
create type everytab.webhook_state as (
    id uuid, key text, url text, events text[], description text, created_at timestamptz,
    disabled_at timestamptz, disabled_because text, failures integer, failing_since timestamptz,
    last_success_at timestamptz, last_failure_at timestamptz, last_outcome text,
    last_status smallint, sent bigint, dropped bigint, pending bigint
);

-- Rows that a call sends, as arrays of these types: a value is sent by its column's name, so that
-- two columns of one type cannot be confused.
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
