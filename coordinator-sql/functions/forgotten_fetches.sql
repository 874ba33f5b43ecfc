-- The fetches that are forgotten with a URL or site.
create or replace function coordinator.forgotten_fetches(p_number integer)
returns setof everytab.fetches
language sql stable set search_path = everytab, pg_temp as $$
    select f.*
      from forgotten g join fetches f on f.host_hash = g.host_hash and f.url_hash = g.url_hash
     where g.number = p_number and g.kind = 'url' and f.at <= g.forgotten_at
    union all
    select f.*
      from forgotten g
      join frontier_hosts h on h.slot = g.slot and h.site_hash = g.host_hash
      join fetches f on f.host_hash = h.host_hash
     where g.number = p_number and g.kind = 'site' and f.at <= g.forgotten_at;
$$;
