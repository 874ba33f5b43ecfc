create or replace function api.drop_webhook(p_key text, p_secret bytea, p_id uuid)
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_key(p_key, p_secret, 1);
    delete from webhooks w where w.id = p_id and w.key = p_key;
    if not found then
        perform api.refuse('not_found', null);
    end if;
end $$;
