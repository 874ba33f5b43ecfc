-- The caller has locked the webhook's row.
create or replace function coordinator.disable_webhook(p_id uuid, p_because text)
returns bigint language plpgsql set search_path = everytab, pg_temp as $$
declare
    gone bigint;
begin
    delete from webhook_events e where e.webhook = p_id;
    get diagnostics gone = row_count;
    update webhooks w
       set disabled_at = clock_timestamp(), disabled_because = p_because,
           dropped = w.dropped + gone, leased_until = null, lease_token = null
     where w.id = p_id;
    return gone;
end $$;
