-- Crawls with their sums, newest first: the one of p_id, or all where it is null.
create or replace function coordinator.crawl_status(p_id uuid)
returns table (crawl integer, id uuid, name text, owner text, state text, ended_by text,
               seeding boolean, store text, settings jsonb, started_at timestamptz,
               finished_at timestamptz, page_limit bigint, budget_left bigint, seeds bigint,
               sent bigint, read bigint, known bigint, pending bigint, reserved bigint,
               captured bigint, failed bigint, stored_bytes bigint, refused jsonb, "left" jsonb,
               links_refused jsonb)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select c.crawl, c.id, c.name, c.owner, c.state, c.ended_by, c.seeding, c.store, c.settings,
           c.started_at, c.finished_at, c.page_limit, c.budget_left, c.seeds,
           s.sent, s.read, s.known, s.pending, s.reserved, s.captured, s.failed, s.stored_bytes,
           coordinator.sum_objects(s.all_refused), coordinator.sum_objects(s.all_left),
           coordinator.sum_objects(s.all_links_refused)
      from crawls c
      cross join lateral (
          select coalesce(sum(s.sent), 0)::bigint, coalesce(sum(s.read), 0)::bigint,
                 coalesce(sum(s.known), 0)::bigint, coalesce(sum(s.pending), 0)::bigint,
                 coalesce(sum(s.reserved), 0)::bigint, coalesce(sum(s.captured), 0)::bigint,
                 coalesce(sum(s.failed), 0)::bigint, coalesce(sum(s.stored_bytes), 0)::bigint,
                 array_agg(s.refused), array_agg(s."left"), array_agg(s.links_refused)
            from crawl_slots s where s.crawl = c.crawl)
          s (sent, read, known, pending, reserved, captured, failed, stored_bytes, all_refused,
             all_left, all_links_refused)
     where p_id is null or c.id = p_id
     order by c.crawl desc;
$$;
