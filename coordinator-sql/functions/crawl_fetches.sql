-- The fetches of a crawl in the order of epoch, transaction and number, after such a position.
-- Until the crawl has ended, those of a transaction come when all transactions that began before it
-- are over, so that who goes on after the last one misses none.
create or replace function coordinator.crawl_fetches(
    p_id uuid, p_after_epoch smallint, p_after_xid bigint, p_after_id bigint, p_limit integer)
returns table ("position" text, at timestamptz, url text, depth smallint,
               status smallint, outcome text, bytes integer, duration_ms integer, mime text,
               title text, redirect text, object text, record_offset bigint,
               record_length integer, truncated text)
language plpgsql stable security definer set search_path = everytab, pg_temp
-- As in api.feed.
set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
    crawl_row crawls;
    current_epoch smallint;
    after_xid xid8 := p_after_xid::text::xid8;
    after_id bigint := p_after_id;
    remaining integer := p_limit;
    returned integer;
begin
    select * into crawl_row from crawls c where c.id = p_id;
    select coalesce(max(r.epoch), 0) into current_epoch from restores r;
    for at_epoch in p_after_epoch..current_epoch loop
        return query
        select format('%s-%s-%s', f.epoch, f.xid, f.id), f.at, f.url, f.depth, f.status, f.outcome,
               f.bytes, f.duration_ms, f.mime, case when not g.is_forgotten then f.title end,
               case when not g.is_forgotten then f.redirect end, a.object, f.record_offset,
               f.record_length, f.truncated
          from fetches f
         cross join lateral (select coordinator.is_fetch_forgotten(f) as is_forgotten) g
          left join crawl_archives a on a.archive = f.archive
         where f.crawl = crawl_row.crawl and f.epoch = at_epoch
           and (f.xid, f.id) > (after_xid, after_id)
           and (at_epoch < current_epoch or crawl_row.state = 'ended'
                or f.xid < pg_snapshot_xmin(pg_current_snapshot()))
         order by f.xid, f.id limit remaining;
        get diagnostics returned = row_count;
        remaining := remaining - returned;
        exit when remaining = 0;
        after_xid := '0';
        after_id := 0;
    end loop;
end $$;
