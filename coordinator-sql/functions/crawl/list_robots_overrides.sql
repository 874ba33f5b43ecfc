create or replace function coordinator.list_robots_overrides(p_owner text)
returns setof everytab.robots_overrides
language sql stable security definer set search_path = everytab, pg_temp as $$
    select * from robots_overrides o where o.owner = p_owner order by o.site nulls first, o.id;
$$;
