-- The last row is as in api.feed, and its position follows all rows that are visible now.
create or replace function api.feed_tail(
    p_key text, p_secret bytea, p_id uuid, p_limit integer)
returns table (next_epoch smallint, next_snapshot text, next_ceiling text, next_xid bigint,
               next_id bigint, has_more boolean, crawl_state text, fetched everytab.api_fetch)
language plpgsql security definer set search_path = everytab, pg_temp
-- As in api.feed.
set enable_sort = off set jit = off as $$
declare
    -- As in api.feed.
    max_rows constant integer := 1000;
    remaining integer := greatest(1, least(p_limit, max_rows));
    crawl_row crawls;
    current_epoch smallint;
    -- Taken before any row is read, so that api.feed returns all later rows.
    ceiling pg_snapshot;
    one record;
begin
    perform api.check_reader(p_key, p_secret, 1);
    crawl_row := api.own_crawl(p_key, p_id);
    crawl_state := crawl_row.state;
    select coalesce(max(r.epoch), 0) into current_epoch from restores r;
    ceiling := pg_current_snapshot();
    for at_epoch in reverse current_epoch..0 loop
        for one in
            select f as fetched from fetches f
             where f.crawl = crawl_row.crawl and f.epoch = at_epoch
               and (at_epoch < current_epoch or pg_visible_in_snapshot(f.xid, ceiling))
             order by f.xid desc, f.id desc limit remaining
        loop
            fetched := api.describe(crawl_row, one.fetched, (one.fetched).host_hash,
                                    (one.fetched).url_hash);
            remaining := remaining - 1;
            return next;
        end loop;
        exit when remaining = 0;
    end loop;
    next_epoch := current_epoch;
    next_snapshot := ceiling;
    next_xid := 0;
    next_id := 0;
    has_more := false;
    fetched := null;
    return next;
end $$;
