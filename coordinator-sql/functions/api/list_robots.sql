create or replace function api.list_robots(p_key text, p_secret bytea)
returns setof everytab.robots_overrides
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, 1);
    return query select * from coordinator.list_robots_overrides('key:' || p_key);
end $$;
