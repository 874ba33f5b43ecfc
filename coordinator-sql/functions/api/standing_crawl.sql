-- Returns a key's standing crawl, which receives URLs that are submitted without a crawl.
-- end_overdue_crawl ends a replaced one, because ending a crawl locks rows of crawl_slots. Null
-- if p_is_full is set and too many replaced crawls are still open. The caller holds the key's
-- usage row and its standing crawl's row.
create or replace function api.standing_crawl(
    p_key text, p_store text, p_settings jsonb, p_is_full boolean)
returns integer language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Slot holders keep some state for every open crawl.
    max_open constant integer := 16;
    now_at timestamp := clock_timestamp() at time zone 'UTC';
    usage api_usage;
    is_open boolean;
    open integer;
    new_id uuid := gen_random_uuid();
    new_crawl integer;
begin
    select * into usage from api_usage u where u.key = p_key;
    is_open := exists (select from crawls c
                        where c.crawl = usage.standing and c.state <> 'ended');
    if is_open and usage.standing_day = now_at::date and not p_is_full then
        return usage.standing;
    end if;
    select count(*) into open from api_crawls a join crawls c on c.crawl = a.crawl
     where a.key = p_key and not a.is_counted and a.is_standing and c.state <> 'ended';
    if is_open and open >= max_open then
        return case when not p_is_full then usage.standing end;
    end if;
    update api_crawls a set is_to_close = true where is_open and a.crawl = usage.standing;
    new_crawl := coordinator.start_crawl((
        new_id, 'LIVE-' || to_char(now_at, 'YYYYMMDDHH24MISS') || '-' || left(new_id::text, 8),
        'key:' || p_key, p_store, p_settings, null, null, null)::new_crawl);
    update api_crawls a set is_standing = true where a.crawl = new_crawl;
    update api_usage u set standing = new_crawl, standing_day = now_at::date where u.key = p_key;
    return new_crawl;
end $$;
