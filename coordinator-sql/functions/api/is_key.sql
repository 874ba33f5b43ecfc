create or replace function api.is_key(p_key text, p_secret bytea)
returns boolean language sql stable as $$
    select exists (select from everytab.api_keys k
                    where k.key = p_key and k.secret_sha256 = p_secret and k.revoked_at is null);
$$;
