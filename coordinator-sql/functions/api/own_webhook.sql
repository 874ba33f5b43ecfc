-- Locks the webhook's row.
create or replace function api.own_webhook(p_key text, p_id uuid)
returns everytab.webhooks language plpgsql set search_path = everytab, pg_temp as $$
declare
    hook webhooks;
begin
    select * into hook from webhooks w where w.id = p_id and w.key = p_key for no key update;
    if not found then
        perform api.refuse('not_found', null);
    end if;
    return hook;
end $$;
