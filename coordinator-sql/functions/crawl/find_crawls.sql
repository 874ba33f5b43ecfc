-- Returns at most 5 crawls, because the caller only reports that there are several. If p_text
-- is null, returns the newest crawl that is not dropped.
create or replace function coordinator.find_crawls(p_text text)
returns table (id uuid, crawl integer, name text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select c.id, c.crawl, c.name
      from crawls c
     where p_text is null and c.dropped_at is null or c.name = p_text
        or starts_with(c.id::text, lower(p_text))
     order by c.crawl desc limit case when p_text is null then 1 else 5 end;
$$;
