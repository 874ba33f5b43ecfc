-- Writes the event webhook.test, even if the webhook receives only other events.
create or replace function api.test_webhook(p_key text, p_secret bytea, p_id uuid)
returns uuid language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    event uuid;
begin
    perform api.check_key(p_key, p_secret, 1);
    if (api.own_webhook(p_key, p_id)).disabled_at is not null then
        perform api.refuse('webhook_disabled', null);
    end if;
    insert into webhook_events (webhook, body)
    values (p_id, coordinator.webhook_body('webhook.test', clock_timestamp(),
                                           json_build_object('webhook', p_id)))
    returning id into event;
    return event;
end $$;
