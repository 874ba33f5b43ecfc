create or replace function api.own_key(p_key text, p_secret bytea)
returns table (key text, name text, created_at timestamptz, revoked_at timestamptz,
               requests_per_second double precision, burst integer, urls_a_day bigint,
               pages_a_day bigint, max_bytes bigint, max_crawls integer, rate integer,
               min_delay_ms integer, ports integer[], urls_today bigint, pages_today bigint,
               bytes_kept bigint, open_crawls integer)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, 1);
    return query
    select k.key, k.name, k.created_at, k.revoked_at, k.requests_per_second, k.burst, k.urls_a_day,
           k.pages_a_day, k.max_bytes, k.max_crawls, k.rate, k.min_delay_ms, k.ports, u.urls_today,
           u.pages_today, u.bytes_kept, u.open_crawls
      from api_keys k cross join lateral coordinator.key_use(k.key) u where k.key = p_key;
end $$;
