-- Returns the crawl with p_id and its pattern versions, or all except dropped ones, newest
-- first.
create or replace function coordinator.crawl_status(p_id uuid)
returns table (crawl integer, id uuid, name text, owner text, state text, ended_by text,
               paused_by text, seeding boolean, store text, settings jsonb, started_at timestamptz,
               finished_at timestamptz, page_limit bigint, budget_left bigint, seeds bigint,
               sent bigint, read bigint, known bigint, pending bigint, reserved bigint,
               captured bigint, failed bigint, stored_bytes bigint, refused jsonb, "left" jsonb,
               links_refused jsonb, failures jsonb, indexes text, patterns jsonb)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select c.crawl, c.id, c.name, c.owner,
           case when c.dropped_at is not null then 'dropped'
                when c.dropping_at is not null then 'dropping' else c.state end,
           c.ended_by, c.paused_by, c.seeding, c.store,
           c.settings, c.started_at, c.finished_at, c.page_limit, c.budget_left, c.seeds, s.*,
           coordinator.indexes_of_crawl(c.state, c.run),
           case when p_id is not null then coordinator.pattern_versions(c.crawl) end
      from crawls c cross join lateral coordinator.crawl_sums(c.crawl) s
     where p_id is null and c.dropped_at is null or c.id = p_id
     order by c.crawl desc;
$$;
