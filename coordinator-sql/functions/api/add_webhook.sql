create or replace function api.add_webhook(
    p_key text, p_secret bytea, p_id uuid, p_url text, p_events text[], p_description text,
    p_signing bytea)
returns setof everytab.webhook_state
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Each webhook may have as many waiting events as record_webhook allows.
    max_webhooks constant integer := 10;
begin
    perform api.check_key(p_key, p_secret, 1);
    if (select count(*) from webhooks w where w.key = p_key) >= max_webhooks then
        perform api.refuse('not_allowed', jsonb_build_object('limit', max_webhooks));
    end if;
    insert into webhooks (id, key, url, events, description, secret)
    values (p_id, p_key, p_url, p_events, p_description, p_signing);
    return query select * from coordinator.list_webhooks(p_key, p_id);
end $$;
