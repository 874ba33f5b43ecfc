create or replace function coordinator.webhook_backlog(out waiting bigint, out failing bigint)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select count(*), count(*) filter (where w.failures > 0)
      from webhooks w
     where w.disabled_at is null and w.id in (select coordinator.waiting_webhooks());
$$;
