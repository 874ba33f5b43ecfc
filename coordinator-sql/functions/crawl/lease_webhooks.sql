-- A lease contains the events in due order, and the secrets that sign them, newest first. If a
-- webhook's last attempt failed, only one event is sent, so that a dead receiver costs little.
-- Skips webhooks that are locked.
create or replace function coordinator.lease_webhooks(p_limit integer)
returns table (id uuid, token uuid, key text, url text, secrets bytea[], numbers bigint[],
               event_ids uuid[], bodies text[])
language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    -- Longer than a worker needs for a batch. A dead worker's webhooks pause for this time.
    lease constant interval := '60 seconds';
    -- Maximum events per lease.
    max_events constant integer := 32;
    now_at timestamptz := clock_timestamp();
begin
    return query
    with due as materialized (
        select w.id
          from webhooks w
         where w.id in (select coordinator.waiting_webhooks())
           and w.disabled_at is null and w.due_at <= now_at
           and coalesce(w.leased_until <= now_at, true)
           and exists (select from webhook_events e where e.webhook = w.id and e.due_at <= now_at)
           and not exists (select from api_keys k
                            where k.key = w.key and k.revoked_at is not null)
         order by w.due_at limit p_limit for no key update of w skip locked),
    leased as (
        update webhooks w set leased_until = now_at + lease, lease_token = gen_random_uuid()
          from due d where w.id = d.id
        returning w.*)
    select l.id, l.lease_token, l.key, l.url,
           array_remove(array[
               l.secret, case when l.old_secret_until > now_at then l.old_secret end], null),
           e.numbers, e.event_ids, e.bodies
      from leased l cross join lateral (
           select array_agg(x.number order by x.due_at, x.number) as numbers,
                  array_agg(x.id order by x.due_at, x.number) as event_ids,
                  array_agg(x.body order by x.due_at, x.number) as bodies
             from (select f.* from webhook_events f
                    where f.webhook = l.id and f.due_at <= now_at
                    order by f.due_at, f.number
                    limit case when l.failures > 0 then 1 else max_events end) x) e;
end $$;
