-- The id has 29 bytes in base32, as in crates/crawl/api/src/tokens.rs: a version, the crawl,
-- the hashes, and 8 bytes of a digest that only the key's owner and this database can compute.
create or replace function api.url_id(
    p_secret_sha256 bytea, p_crawl integer, p_host bigint, p_url bigint)
returns text language plpgsql immutable as $$
declare
    digits text := 'abcdefghijklmnopqrstuvwxyz234567';
    -- Hashes are stored with the highest bit flipped, because signed integers then sort like
    -- the unsigned hashes.
    highest constant bigint := -9223372036854775808;
    said bytea := '\x01'::bytea || int4send(p_crawl) || int8send(p_host # highest)
                  || int8send(p_url # highest);
    code bytea := substr(sha256(p_secret_sha256 || said), 1, 8);
    -- Limit bits = 235: 29 bytes, and zeros that complete the last 5-bit digit.
    bits bit(235) := ('x' || encode(said || code, 'hex') || '0')::bit(235);
begin
    return (select string_agg(
                substr(digits, substring(bits from 5 * digit + 1 for 5)::bit(5)::integer + 1, 1),
                '' order by digit)
              from generate_series(0, length(bits) / 5 - 1) digit);
end $$;
