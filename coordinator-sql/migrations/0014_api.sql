-- The HTTP service: keys, what each has used, the crawls that are a key's, and answers that are
-- given again. The role everytab_api reads and writes them by functions of schema api alone.

-- Who may use the service, and how much. Made and revoked by the operator, never deleted: crawls
-- name them. Of the secret, 256 random bits, only the digest is kept. A limit that is null is none.
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
    name text not null check (length(name) between 1 and 100)
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
    body_length integer, truncated text
);

-- What becomes of one URL that was submitted: refused with a code, or the crawl where it is found.
create type everytab.api_verdict as (
    number bigint, code text, detail jsonb, crawl integer, is_urgent boolean, is_answered boolean
);
