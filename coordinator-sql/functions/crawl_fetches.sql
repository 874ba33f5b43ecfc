-- The fetches of a crawl in the order of recording, after the one with the number p_after.
create or replace function coordinator.crawl_fetches(p_id uuid, p_after bigint, p_limit integer)
returns table (id bigint, at timestamptz, url text, depth smallint, status smallint, outcome text,
               bytes integer, duration_ms integer, mime text, title text, redirect text,
               object text, record_offset bigint, record_length integer, truncated text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select f.id, f.at, f.url, f.depth, f.status, f.outcome, f.bytes, f.duration_ms, f.mime,
           f.title, f.redirect, f.object, f.record_offset, f.record_length, f.truncated
      from crawls c join fetches f on f.crawl = c.crawl
     where c.id = p_id and f.id > p_after
     order by f.id limit p_limit;
$$;
