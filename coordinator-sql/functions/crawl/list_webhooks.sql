create or replace function coordinator.list_webhooks(p_key text, p_id uuid)
returns setof everytab.webhook_state
language sql stable security definer set search_path = everytab, pg_temp as $$
    select w.id, w.key, w.url, w.events, w.description, w.created_at, w.disabled_at,
           w.disabled_because, w.failures, w.failing_since, w.last_success_at, w.last_failure_at,
           w.last_outcome, w.last_status, w.sent, w.dropped,
           (select count(*) from webhook_events e where e.webhook = w.id)
      from webhooks w
     where (p_key is null or w.key = p_key) and (p_id is null or w.id = p_id)
     order by w.created_at, w.id;
$$;
