-- Returns the webhooks that have events, with one index lookup each.
create or replace function coordinator.waiting_webhooks()
returns setof uuid language sql stable set search_path = everytab, pg_temp as $$
    with recursive waiting (webhook) as (
        (select e.webhook from webhook_events e order by e.webhook limit 1)
        union all
        select (select e.webhook from webhook_events e where e.webhook > w.webhook
                 order by e.webhook limit 1)
          from waiting w where w.webhook is not null)
    select w.webhook from waiting w where w.webhook is not null;
$$;
