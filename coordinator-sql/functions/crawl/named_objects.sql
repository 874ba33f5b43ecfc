create or replace function coordinator.named_objects(p_but integer[], p_objects text[])
returns setof text
language sql stable security definer set search_path = everytab, pg_temp as $$
    select distinct a.object from crawl_archives a
     where a.object = any (p_objects) and a.crawl <> all (p_but);
$$;
