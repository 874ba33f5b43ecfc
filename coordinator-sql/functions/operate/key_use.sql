-- Except for the URLs, counts may be some seconds old. If a crawl was started on an earlier
-- day, pages that it captured between midnight and this day's first count are not included.
--
-- This does not wait for locks, so that the caller may hold locks on slots and crawls: if
-- another transaction is counting or using the key, the last counts are returned.
create or replace function coordinator.key_use(
    p_key text, out urls_today bigint, out pages_today bigint, out bytes_kept bigint,
    out open_crawls integer)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Counting for a key with many open crawls takes milliseconds.
    recount_after constant interval := '5 seconds';
    now_at timestamptz;
    today date;
    usage api_usage;
    sums record;
begin
    select * into usage from api_usage u where u.key = p_key for no key update skip locked;
    now_at := clock_timestamp();
    today := (now_at at time zone 'UTC')::date;
    if not found then
        select * into usage from api_usage u where u.key = p_key;
    elsif usage.counted_at < now_at - recount_after
            or (usage.counted_at at time zone 'UTC')::date <> today then
        with counted as (
            select a.crawl, a.is_standing, c.state = 'ended' as has_ended, s.captured, s.bytes,
                   case when a.day = today then a.pages_before else s.captured end as before
              from api_crawls a join crawls c on c.crawl = a.crawl
             cross join lateral (
                   select coalesce(sum(s.captured), 0)::bigint as captured,
                          coalesce(sum(s.stored_bytes), 0)::bigint as bytes
                     from crawl_slots s where s.crawl = a.crawl) s
             where a.key = p_key and not a.is_counted),
        noted as (
            update api_crawls a
               set day = today, pages_before = c.before, is_counted = c.has_ended
              from counted c where c.crawl = a.crawl and (a.day <> today or c.has_ended))
        select coalesce(sum(c.captured - c.before), 0)::bigint as pages,
               coalesce(sum(c.bytes), 0)::bigint as bytes,
               coalesce(sum(c.captured - c.before) filter (where c.has_ended), 0)::bigint
                   as ended_pages,
               coalesce(sum(c.bytes) filter (where c.has_ended), 0)::bigint as ended_bytes,
               count(*) filter (where not c.has_ended and not c.is_standing) as open
          into sums from counted c;
        update api_usage u
           set pages = case when u.ended_day = today then u.ended_pages else 0 end + sums.pages,
               bytes = u.ended_bytes + sums.bytes,
               ended_pages = case when u.ended_day = today then u.ended_pages else 0 end
                             + sums.ended_pages,
               ended_bytes = u.ended_bytes + sums.ended_bytes,
               ended_day = today, open_crawls = sums.open, counted_at = now_at
         where u.key = p_key returning * into usage;
    end if;
    urls_today := case when usage.urls_day = today then usage.urls else 0 end;
    pages_today := case when (usage.counted_at at time zone 'UTC')::date = today
                        then usage.pages else 0 end;
    bytes_kept := usage.bytes;
    open_crawls := usage.open_crawls;
end $$;
