-- p_secret is the digest of the key's secret. p_urls_a_day, p_pages_a_day,
-- p_max_bytes, p_max_crawls and p_rate are unlimited if null; no other argument may be null.
create or replace function coordinator.add_key(
    p_key text, p_secret bytea, p_name text, p_requests_per_second double precision,
    p_burst integer, p_urls_a_day bigint, p_pages_a_day bigint, p_max_bytes bigint,
    p_max_crawls integer, p_rate integer, p_min_delay_ms integer, p_ports integer[])
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    insert into api_keys (key, secret_sha256, name, requests_per_second, burst, urls_a_day,
                          pages_a_day, max_bytes, max_crawls, rate, min_delay_ms, ports)
    values (p_key, p_secret, p_name, p_requests_per_second, p_burst, p_urls_a_day, p_pages_a_day,
            p_max_bytes, p_max_crawls, p_rate, p_min_delay_ms, p_ports);
    insert into api_usage (key) values (p_key);
end $$;
