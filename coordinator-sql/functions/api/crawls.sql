-- Returns the crawl with p_id and its pattern versions, or crawls with a number below p_before,
-- newest first.
create or replace function api.crawls(
    p_key text, p_secret bytea, p_id uuid, p_limit integer, p_before integer)
returns table (crawl integer, id uuid, name text, owner text, state text, ended_by text,
               paused_by text, seeding boolean, store text, settings jsonb, started_at timestamptz,
               finished_at timestamptz, page_limit bigint, budget_left bigint, seeds bigint,
               sent bigint, read bigint, known bigint, pending bigint, reserved bigint,
               captured bigint, failed bigint, stored_bytes bigint, refused jsonb, "left" jsonb,
               links_refused jsonb, failures jsonb, indexes text, patterns jsonb)
language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    -- Maximum per response.
    max_rows constant integer := 1000;
begin
    perform api.check_reader(p_key, p_secret, 1);
    if p_id is not null then
        perform api.own_crawl(p_key, p_id);
    end if;
    return query
    select c.crawl, c.id, c.name, c.owner, c.state, c.ended_by, c.paused_by, c.seeding, c.store,
           c.settings, c.started_at, c.finished_at, c.page_limit, c.budget_left, c.seeds, s.*,
           coordinator.indexes_of_crawl(c.state, c.run),
           case when p_id is not null then coordinator.pattern_versions(c.crawl) end
      from (select a.crawl from api_crawls a join crawls c on c.crawl = a.crawl
             where a.key = p_key and (p_id is null or c.id = p_id) and c.dropped_at is null
               and (p_before is null or a.crawl < p_before)
             order by a.crawl desc limit least(p_limit, max_rows)) own
      join crawls c on c.crawl = own.crawl
     cross join lateral coordinator.crawl_sums(c.crawl) s
     order by c.crawl desc;
end $$;
