-- The crawls that have not ended, for the holders of slots, after one whose time is over was ended
-- and the next partition of links was made.
-- How many pages a limited crawl may still reserve is among it (null: no limit).
create or replace function coordinator.open_crawls()
returns table (crawl integer, id uuid, name text, state text, budget_left bigint, store text)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform coordinator.end_overdue_crawl();
    perform coordinator.make_links_partitions();
    return query
    select c.crawl, c.id, c.name, c.state, c.budget_left, c.store
      from crawls c where c.state <> 'ended' order by c.crawl;
end $$;
