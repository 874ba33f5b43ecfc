create or replace function api.drop_robots(p_key text, p_secret bytea, p_id uuid)
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_key(p_key, p_secret, 1);
    if not coordinator.drop_robots_override('key:' || p_key, p_id) then
        perform api.refuse('not_found', null);
    end if;
end $$;
