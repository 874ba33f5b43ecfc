create or replace function coordinator.list_keys()
returns table (key text, name text, created_at timestamptz, revoked_at timestamptz,
               requests_per_second double precision, burst integer, urls_a_day bigint,
               pages_a_day bigint, max_bytes bigint, max_crawls integer, rate integer,
               min_delay_ms integer, ports integer[], urls_today bigint, pages_today bigint,
               bytes_kept bigint, open_crawls integer)
language sql security definer set search_path = everytab, pg_temp as $$
    select k.key, k.name, k.created_at, k.revoked_at, k.requests_per_second, k.burst, k.urls_a_day,
           k.pages_a_day, k.max_bytes, k.max_crawls, k.rate, k.min_delay_ms, k.ports, u.urls_today,
           u.pages_today, u.bytes_kept, u.open_crawls
      from api_keys k cross join lateral coordinator.key_use(k.key) u
     order by k.created_at, k.key;
$$;
