-- Revokes a key, and disables its webhooks.
create or replace function coordinator.revoke_key(p_key text)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update api_keys k set revoked_at = clock_timestamp()
     where k.key = p_key and k.revoked_at is null;
    if not found then
        return false;
    end if;
    perform coordinator.disable_webhook(w.id, 'key_revoked')
       from (select w.id from webhooks w
              where w.key = p_key and w.disabled_at is null order by w.id
                for no key update) w;
    return true;
end $$;
