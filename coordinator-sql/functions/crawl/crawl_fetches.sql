-- Until the crawl has ended, a transaction's fetches are returned only once all transactions
-- that started before it are over, so that a reader that continues after the last fetch misses
-- none. One host's fetches are ordered by URL hash, because an index finds them in this order,
-- so a reader may miss new ones. If a call reads its maximum number of rows before it finds
-- p_limit fetches, the last row contains only the position.
create or replace function coordinator.crawl_fetches(
    p_id uuid, p_after_epoch smallint, p_after_xid bigint, p_after_id bigint, p_limit integer,
    p_outcome text, p_host bigint, p_status smallint)
returns table ("position" text, at timestamptz, url text, depth smallint,
               status smallint, outcome text, bytes integer, duration_ms integer, mime text,
               title text, redirect text, via text, object text, record_offset bigint,
               record_length integer, certificate text, truncated text)
language plpgsql stable security definer set search_path = everytab, pg_temp
-- As in api.feed.
set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
    -- Maximum rows that a call reads, which takes a tenth of a second.
    max_rows constant integer := 50000;
    -- The lowest possible hash.
    before_all constant bigint := -9223372036854775808;
    crawl_row crawls;
    current_epoch smallint;
    after_xid xid8 := p_after_xid::text::xid8;
    found_rows refcursor;
    one fetches;
    number integer := 0;
    remaining integer := p_limit;
    is_forgotten boolean;
begin
    select * into crawl_row from crawls c where c.id = p_id;
    select coalesce(max(r.epoch), 0) into current_epoch from restores r;
    if p_host is not null then
        open found_rows no scroll for
        select f.* from fetches f
         where f.crawl = crawl_row.crawl and f.host_hash = p_host
           and f.url_hash >= coalesce((
               select a.url_hash + 1 from fetches a
                where a.crawl = crawl_row.crawl and a.epoch = p_after_epoch and a.xid = after_xid
                  and a.id = p_after_id and a.host_hash = p_host), before_all)
         order by f.url_hash limit max_rows;
    elsif p_outcome not in ('ok', 'redirected', 'empty_body', 'not_modified') then
        open found_rows no scroll for
        select f.* from fetches f
         where f.crawl = crawl_row.crawl and f.outcome = p_outcome
           and f.outcome not in ('ok', 'redirected', 'empty_body', 'not_modified')
           and (f.epoch, f.xid, f.id) > (p_after_epoch, after_xid, p_after_id)
           and (f.epoch < current_epoch or crawl_row.state = 'ended'
                or f.xid < pg_snapshot_xmin(pg_current_snapshot()))
         order by f.epoch, f.xid, f.id limit max_rows;
    else
        open found_rows no scroll for
        select f.* from fetches f
         where f.crawl = crawl_row.crawl
           and (f.epoch, f.xid, f.id) > (p_after_epoch, after_xid, p_after_id)
           and (f.epoch < current_epoch or crawl_row.state = 'ended'
                or f.xid < pg_snapshot_xmin(pg_current_snapshot()))
         order by f.epoch, f.xid, f.id limit max_rows;
    end if;
    while remaining > 0 loop
        fetch found_rows into one;
        exit when not found;
        number := number + 1;
        "position" := format('%s-%s-%s', one.epoch, one.xid, one.id);
        continue when one.outcome <> p_outcome or one.status is distinct from p_status
                      and p_status is not null;
        remaining := remaining - 1;
        is_forgotten := coordinator.is_fetch_forgotten(one);
        return query
        select "position", one.at, one.url, one.depth, one.status, one.outcome, one.bytes,
               one.duration_ms, one.mime, case when not is_forgotten then one.title end,
               case when not is_forgotten then one.redirect end, coordinator.via_of(one),
               (select a.object from crawl_archives a where a.archive = one.archive),
               one.record_offset, one.record_length, one.certificate, one.truncated;
    end loop;
    close found_rows;
    if remaining > 0 and number = max_rows then
        return query select "position", null::timestamptz, null, null::smallint, null::smallint,
                            null, null::integer, null::integer, null, null, null, null, null,
                            null::bigint, null::integer, null, null;
    end if;
end $$;
