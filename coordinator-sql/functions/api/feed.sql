-- Returns a page in the feed of a key's crawl: fetches after a position, ordered by epoch,
-- transaction and number. A position means that the reader has all rows from earlier epochs,
-- and in its own epoch all rows that are visible in its snapshot. If the new rows do not fit
-- into one page, a pass takes several calls, up to a later snapshot, the ceiling. Rows that a
-- late transaction commits are not visible in the ceiling, which becomes the next snapshot, so
-- the next pass returns these rows, and no row is returned twice.
--
-- Rows from an earlier epoch were restored from a backup. Their transaction ids come from
-- another server and are compared only with snapshots from their own epoch.
--
-- Each row contains the position after it. The last row has no fetch and contains the next
-- position.
create or replace function api.feed(
    p_key text, p_secret bytea, p_id uuid, p_epoch smallint, p_snapshot text, p_ceiling text,
    p_after_xid bigint, p_after_id bigint, p_limit integer, p_cost integer, p_outcome text,
    p_host bigint, p_status smallint)
returns table (next_epoch smallint, next_snapshot text, next_ceiling text, next_xid bigint,
               next_id bigint, has_more boolean, crawl_state text, fetched everytab.api_fetch)
language plpgsql security definer set search_path = everytab, pg_temp
-- Without statistics for a new partition, Postgres would sort all rows in each call. Without
-- sorting, the cost estimate is so high that Postgres would compile the plan, which takes 100
-- ms per call.
set enable_sort = off set jit = off as $$
declare
    -- Maximum rows per page, which then has some hundred KB.
    max_rows constant integer := 1000;
    -- Maximum rows that a call reads to find matching ones, in some tens of milliseconds.
    max_looked_at constant integer := 10000;
    nothing_read constant pg_snapshot := '1:1:';
    remaining integer := greatest(1, least(p_limit, max_rows));
    rows_left integer :=
        case when coalesce(p_outcome, p_host::text, p_status::text) is null then remaining
             else max_looked_at end;
    crawl_row crawls;
    current_epoch smallint;
    at_epoch smallint := p_epoch;
    snapshot pg_snapshot := p_snapshot::pg_snapshot;
    ceiling pg_snapshot := p_ceiling::pg_snapshot;
    after_xid xid8 := p_after_xid::text::xid8;
    after_id bigint := p_after_id;
    -- If has_more were false, a reader of an ended crawl would miss rows that were added since
    -- an earlier call set this ceiling.
    is_ceiling_old boolean := p_ceiling is not null;
    is_in_pass boolean;
    is_first_of_pass boolean;
    one record;
begin
    perform api.check_reader(p_key, p_secret, p_cost);
    crawl_row := api.own_crawl(p_key, p_id);
    crawl_state := crawl_row.state;
    select coalesce(max(r.epoch), 0) into current_epoch from restores r;
    if at_epoch > current_epoch then
        perform api.refuse('invalid_cursor', null);
    end if;
    loop
        if after_xid = '0' then
            -- All rows below this transaction are visible in the snapshot.
            after_xid := pg_snapshot_xmin(snapshot);
            after_id := -1;
        end if;
        if ceiling is null and at_epoch = current_epoch then
            ceiling := pg_current_snapshot();
        end if;
        is_first_of_pass := true;
        for one in
            select f.xid, f.id, f as fetched from fetches f
             where f.crawl = crawl_row.crawl and f.epoch = at_epoch
               and (f.xid, f.id) > (after_xid, after_id)
               and not pg_visible_in_snapshot(f.xid, snapshot)
               and (ceiling is null or f.xid < pg_snapshot_xmax(ceiling)
                                       and pg_visible_in_snapshot(f.xid, ceiling))
             order by f.xid, f.id limit rows_left
        loop
            after_xid := one.xid;
            after_id := one.id;
            rows_left := rows_left - 1;
            continue when (one.fetched).outcome <> p_outcome or (one.fetched).host_hash <> p_host
                          or (one.fetched).status is distinct from p_status
                             and p_status is not null;
            fetched := api.describe(crawl_row, one.fetched, (one.fetched).host_hash,
                                    (one.fetched).url_hash);
            remaining := remaining - 1;
            next_epoch := at_epoch;
            next_snapshot := case when is_first_of_pass then snapshot end;
            next_ceiling := case when is_first_of_pass then ceiling end;
            next_xid := after_xid::text::bigint;
            next_id := after_id;
            is_first_of_pass := false;
            return next;
            exit when remaining = 0;
        end loop;
        exit when remaining = 0 or rows_left = 0;
        -- In an earlier epoch with a ceiling, another pass without a ceiling follows.
        exit when at_epoch = current_epoch;
        is_ceiling_old := false;
        snapshot := coalesce(ceiling, nothing_read);
        at_epoch := at_epoch + (ceiling is null)::integer;
        ceiling := null;
        after_xid := '0';
    end loop;
    is_in_pass := remaining = 0 or rows_left = 0;
    has_more := is_in_pass or is_ceiling_old;
    next_epoch := at_epoch;
    next_snapshot := case when is_in_pass then snapshot else ceiling end;
    next_ceiling := case when is_in_pass then ceiling end;
    next_xid := case when is_in_pass then after_xid::text::bigint else 0 end;
    next_id := case when is_in_pass then after_id else 0 end;
    fetched := null;
    return next;
end $$;
