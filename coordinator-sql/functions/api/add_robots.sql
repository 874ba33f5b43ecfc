create or replace function api.add_robots(
    p_key text, p_secret bytea, p_id uuid, p_site text, p_user_agent text, p_rules text,
    p_delay_ms integer)
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_key(p_key, p_secret, 1);
    if not coordinator.add_robots_override('key:' || p_key, p_id, p_site, p_user_agent, p_rules,
                                           p_delay_ms) then
        perform api.refuse('not_allowed', jsonb_build_object('limit', (
            select count(*) from robots_overrides o where o.owner = 'key:' || p_key)));
    end if;
end $$;
