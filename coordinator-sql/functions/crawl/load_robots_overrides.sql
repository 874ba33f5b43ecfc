create or replace function coordinator.load_robots_overrides()
returns setof everytab.robots_overrides
language sql stable security definer set search_path = everytab, pg_temp as $$
    select * from robots_overrides o
     where o.owner in (select c.owner from crawls c where c.state <> 'ended');
$$;
