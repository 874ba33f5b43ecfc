-- If a webhook is being removed, this waits for the removing transaction, which takes no other
-- lock.
create or replace function coordinator.tell_webhooks(p_owner text, p_type text, p_data json)
returns void language sql set search_path = everytab, pg_temp as $$
    insert into webhook_events (webhook, body)
    select w.id, coordinator.webhook_body(p_type, clock_timestamp(), p_data)
      from webhooks w
     where 'key:' || w.key = p_owner and w.disabled_at is null and p_type = any (w.events)
     order by w.id for key share of w;
$$;
