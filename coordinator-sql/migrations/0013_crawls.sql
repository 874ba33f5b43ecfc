-- The live crawl: what a fleet knows of the web that it fetches itself. Append-only are links and
-- fetches. The others are updated in place, or their rows deleted, each for the reason it gives.

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
    check ((state = 'ended') = (ended_by is not null)),
    check ((page_limit is null) = (budget_left is null))
) with (fillfactor = 50);
create index crawls_open on everytab.crawls (crawl) where state <> 'ended';

-- The sums of a crawl, by slot: known = pending + captured + failed + refused + left. Updated by
-- the checkpoints of the slot's holder, and closed when the crawl ends. sent counts links that the
-- slot's holder recorded, read those that it merged: a crawl has ended when all that was sent has
-- been read and nothing is pending.
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
    primary key (crawl, slot)
) with (fillfactor = 50);

-- A host's manners, for all crawls. Updated by the checkpoints of the slot's holder.
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
    failures smallint not null check (failures >= 0),
    hostname text not null check (length(hostname) between 1 and 255),
    robots bytea,
    addresses text[],
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
    next_due timestamptz,
    seq integer not null check (seq > 0),
    known integer not null check (known >= 0),
    pending integer not null check (pending >= 0),
    data bytea not null,
    primary key (slot, crawl, host_hash, seq)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index frontier_chunks_due on everytab.frontier_chunks (slot, next_due)
    where next_due is not null;

-- Links on their way to the slots that merge them: one row a checkpoint, crawl and group of 16
-- slots; the mask says which of these. A partition is dropped when every slot has read it. A
-- database that came back from a backup writes those that are not read once more (begin_epoch).
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

-- How each URL's turn ended. Partitions are made before the crawls whose rows they hold.
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
    object text,
    body_object text
) partition by range (crawl);
create unique index fetches_url on everytab.fetches (crawl, host_hash, url_hash);
create index fetches_feed on everytab.fetches (crawl, xid, id);
create index fetches_slot on everytab.fetches (crawl, slot);

-- Each time the database came back from a backup with crawls in it. A server that was restored into
-- gives out transaction ids anew, so what is ordered by them is ordered by its epoch first: how
-- many restores there were.
create table everytab.restores (
    epoch smallint primary key check (epoch > 0),
    restored_at timestamptz not null default now()
);

-- Live crawls ask again and again what was added.
create index blocklist_added on everytab.blocklist (added_at);
