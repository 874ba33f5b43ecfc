-- Null arguments leave a value unchanged, and an empty description removes the description.
create or replace function api.change_webhook(
    p_key text, p_secret bytea, p_id uuid, p_url text, p_events text[], p_description text,
    p_enabled boolean)
returns setof everytab.webhook_state
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    hook webhooks;
    is_new boolean;
begin
    perform api.check_key(p_key, p_secret, 1);
    hook := api.own_webhook(p_key, p_id);
    is_new := p_enabled and hook.disabled_at is not null or p_url <> hook.url;
    if p_enabled and hook.disabled_at is not null then
        -- Delete the events that a checkpoint wrote while the webhook was being disabled.
        perform coordinator.disable_webhook(p_id, 'requested');
    end if;
    update webhooks w
       set url = coalesce(p_url, w.url), events = coalesce(p_events, w.events),
           description = nullif(coalesce(p_description, w.description), '')
     where w.id = p_id;
    if p_enabled then
        update webhooks w set disabled_at = null, disabled_because = null where w.id = p_id;
    elsif not p_enabled and hook.disabled_at is null then
        perform coordinator.disable_webhook(p_id, 'requested');
    end if;
    if is_new then
        update webhooks w
           set failures = 0, failing_since = null, due_at = clock_timestamp()
         where w.id = p_id;
    end if;
    return query select * from coordinator.list_webhooks(p_key, p_id);
end $$;
