-- Records the results of sending a webhook's events, and ends its lease. p_retry_after_s is the
-- pause that the receiver requested.
--
-- A failed event is retried after an increasing pause, and is given up a day after its first
-- attempt. While no event succeeds, the webhook itself also pauses. It is disabled if the
-- receiver responds with status 410 (gone), or if it has failed for a day.
create or replace function coordinator.record_webhook(
    p_id uuid, p_token uuid, p_numbers bigint[], p_outcomes text[], p_statuses smallint[],
    p_retry_after_s integer,
    out word text, out disabled_because text, out dropped bigint)
language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    -- Waiting events per webhook, of about 700 bytes each.
    max_events constant integer := 100000;
    -- Waiting events are counted if nothing was delivered, and otherwise with this probability,
    -- because counting max_events takes 25 ms.
    counted_of_successes constant double precision := 0.05;
    -- How long an event is retried, and how long all attempts for a webhook may fail.
    patience constant interval := '1 day';
    -- A webhook is disabled only after this many consecutive failures, because no worker may
    -- have been running.
    min_failures constant integer := 10;
    -- After this many consecutive failures, a success makes all waiting events due immediately.
    outage constant integer := 3;
    -- Within this time we notice that a receiver has recovered.
    max_pause constant interval := '5 minutes';
    -- Maximum pause that a receiver can request.
    max_retry_after_s constant integer := 3600;
    -- Pause after a local failure in the worker.
    pause_after_trouble constant interval := '5 seconds';
    -- The status with which a receiver rejects all further events.
    gone constant smallint := 410;
    now_at timestamptz := clock_timestamp();
    left_alone interval :=
        make_interval(secs => least(greatest(coalesce(p_retry_after_s, 0), 0), max_retry_after_s));
    delivered bigint[];
    failed integer;
    given_up bigint;
    hook webhooks;
begin
    word := 'lost';
    dropped := 0;
    select * into hook from webhooks w
     where w.id = p_id and w.lease_token = p_token for no key update;
    if not found then
        return;
    end if;
    word := 'recorded';
    delivered := array(select t.number from unnest(p_numbers, p_outcomes) t (number, outcome)
                        where t.outcome = 'ok');
    failed := coalesce(cardinality(p_numbers), 0) - cardinality(delivered);
    delete from webhook_events e where e.webhook = p_id and e.number = any (delivered);
    with late as (
        delete from webhook_events e
         where e.webhook = p_id and e.number = any (p_numbers)
           and e.first_tried_at <= now_at - patience
        returning e.number)
    select count(*) into given_up from late;
    update webhook_events e
       set tries = e.tries + 1, first_tried_at = coalesce(e.first_tried_at, now_at),
           due_at = least(
               now_at + greatest(coordinator.webhook_pause(e.tries + 1), left_alone),
               coalesce(e.first_tried_at, now_at) + patience)
     where e.webhook = p_id and e.number = any (p_numbers);
    if cardinality(delivered) > 0 and hook.failures >= outage then
        update webhook_events e set due_at = now_at
         where e.webhook = p_id and e.due_at > now_at and e.number <> all (p_numbers);
    end if;
    dropped := given_up;
    if cardinality(delivered) = 0 or random() < counted_of_successes then
        with newest as (
            delete from webhook_events e
             where e.number in (select x.number from webhook_events x
                                 where x.webhook = p_id and x.tries = 0
                                 order by x.due_at, x.number offset max_events)
            returning e.number)
        select dropped + count(*) into dropped from newest;
    end if;
    update webhooks w
       set leased_until = null, lease_token = null, sent = w.sent + cardinality(delivered),
           dropped = w.dropped + record_webhook.dropped,
           last_success_at = case when cardinality(delivered) > 0 then now_at
                             else w.last_success_at end,
           failures = case when cardinality(delivered) > 0 then 0 else w.failures + failed end,
           failing_since = case when cardinality(delivered) > 0 then null
                                when failed > 0 then coalesce(w.failing_since, now_at)
                                else w.failing_since end,
           due_at = now_at + case
               when cardinality(delivered) > 0 then left_alone
               when failed = 0 then pause_after_trouble
               else greatest(left_alone, least(
                   coordinator.webhook_pause(w.failures + 1), max_pause)) end
     where w.id = p_id
    returning w.* into hook;
    if failed > 0 then
        update webhooks w
           set last_failure_at = now_at, last_outcome = t.outcome, last_status = t.status
          from (select t.outcome, t.status
                  from unnest(p_outcomes, p_statuses) with ordinality t (outcome, status, place)
                 where t.outcome <> 'ok' order by t.place desc limit 1) t
         where w.id = p_id;
    end if;
    if hook.disabled_at is null and gone = any (p_statuses) then
        disabled_because := 'gone';
    elsif hook.disabled_at is null and hook.failures >= min_failures
          and hook.failing_since <= now_at - patience then
        disabled_because := 'failing';
    end if;
    if disabled_because is not null then
        dropped := dropped + coordinator.disable_webhook(p_id, disabled_because);
    end if;
end $$;
