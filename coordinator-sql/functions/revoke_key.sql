-- Revokes a key: it is refused from now on. False: there is no such key, or it was revoked before.
create or replace function coordinator.revoke_key(p_key text)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update api_keys k set revoked_at = clock_timestamp()
     where k.key = p_key and k.revoked_at is null;
    return found;
end $$;
