-- For 24 hours, events are also signed with the old secret, so that the receiver can change to
-- the new one at any time.
create or replace function api.rotate_webhook(
    p_key text, p_secret bytea, p_id uuid, p_signing bytea)
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Time in which the receiver can be given the new secret.
    kept_for constant interval := '24 hours';
begin
    perform api.check_key(p_key, p_secret, 1);
    perform api.own_webhook(p_key, p_id);
    update webhooks w
       set old_secret = w.secret, old_secret_until = clock_timestamp() + kept_for,
           secret = p_signing
     where w.id = p_id;
end $$;
