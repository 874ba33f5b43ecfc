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
