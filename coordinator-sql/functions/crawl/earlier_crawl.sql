-- Returns no row if the earlier crawl is not in this database or is being dropped.
create or replace function coordinator.earlier_crawl(p_crawl integer)
returns table (store text, settings jsonb)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select e.store, e.settings
      from crawls c join crawls e on e.id = (c.settings->>'again')::uuid
     where c.crawl = p_crawl and e.dropping_at is null;
$$;
