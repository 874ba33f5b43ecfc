-- The id of a URL of a key's crawl, as crates/crawl/api/src/tokens.rs makes it: for events that
-- tell of it. These are 29 bytes in base32: version, crawl, hashes, and the beginning of a digest
-- that only the key's owner and this database can make.
create or replace function api.url_id(
    p_secret_sha256 bytea, p_crawl integer, p_host bigint, p_url bigint)
returns text language plpgsql immutable as $$
declare
    digits text := 'abcdefghijklmnopqrstuvwxyz234567';
    -- A hash is kept with its highest bit the other way round, so that hashes are in their order.
    highest constant bigint := -9223372036854775808;
    said bytea := '\x01'::bytea || int4send(p_crawl) || int8send(p_host # highest)
                  || int8send(p_url # highest);
    code bytea := substr(sha256(p_secret_sha256 || said), 1, 8);
    -- Limit bits = 235: 29 bytes, and zeros that fill the last 5-bit digit.
    bits bit(235) := ('x' || encode(said || code, 'hex') || '0')::bit(235);
begin
    return (select string_agg(
                substr(digits, substring(bits from 5 * digit + 1 for 5)::bit(5)::integer + 1, 1),
                '' order by digit)
              from generate_series(0, length(bits) / 5 - 1) digit);
end $$;
