create or replace function api.list_webhooks(p_key text, p_secret bytea, p_id uuid)
returns setof everytab.webhook_state
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, 1);
    return query select * from coordinator.list_webhooks(p_key, p_id);
    if p_id is not null and not found then
        perform api.refuse('not_found', null);
    end if;
end $$;
