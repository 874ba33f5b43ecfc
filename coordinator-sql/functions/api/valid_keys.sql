create or replace function api.valid_keys(p_keys text[], p_secrets bytea[])
returns setof bigint
language sql stable security definer set search_path = everytab, pg_temp as $$
    select x.number from unnest(p_keys, p_secrets) with ordinality x (key, secret, number)
     where api.is_key(x.key, x.secret);
$$;
