-- Returns which callers have a valid key, by their array index from 1. In one call the service
-- checks all callers' keys that it has not seen accepted.
create or replace function api.valid_keys(p_keys text[], p_secrets bytea[])
returns setof bigint
language sql stable security definer set search_path = everytab, pg_temp as $$
    select x.number from unnest(p_keys, p_secrets) with ordinality x (key, secret, number)
     where api.is_key(x.key, x.secret);
$$;
