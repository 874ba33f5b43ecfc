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
