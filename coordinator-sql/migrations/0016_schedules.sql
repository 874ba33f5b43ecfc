-- What owners of live crawls set beside them: rates, stricter rules for robots, and crawls that
-- start again and again. An owner is operator, or key:<id> for a key of the HTTP service.

-- How often hosts are asked for a crawl, and who paused it: what a quota paused goes on by itself.
alter table everytab.crawls
    add column rate double precision check (rate > 0 and rate <= 100000),
    add column min_delay_ms integer check (min_delay_ms between 0 and 3600000),
    add column paused_by text
        check (paused_by in ('operator', 'key_revoked', 'quota_pages', 'quota_bytes'));
update everytab.crawls set paused_by = 'operator' where state = 'paused';
alter table everytab.crawls
    add constraint crawls_paused check ((state = 'paused') = (paused_by is not null));
create index crawls_owner on everytab.crawls (owner, crawl) where state <> 'ended';

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
