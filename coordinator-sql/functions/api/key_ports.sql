-- Null if the key is invalid, because the call that submits the URLs reports this.
create or replace function api.key_ports(p_key text, p_secret bytea)
returns integer[] language sql stable security definer set search_path = everytab, pg_temp as $$
    select k.ports from api_keys k
     where k.key = p_key and k.secret_sha256 = p_secret and k.revoked_at is null;
$$;
