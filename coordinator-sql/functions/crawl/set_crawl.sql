-- p_name is limit (pages in total), duration_s (seconds since the crawl's start) or
-- max_store_bytes. A crawl that was started without a page limit gets none, because its holders
-- reserve no pages.
create or replace function coordinator.set_crawl(
    p_id uuid, p_name text, p_value bigint, out word text, out used bigint)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    crawl_row crawls;
begin
    select * into crawl_row from crawls c where c.id = p_id for no key update;
    used := crawl_row.page_limit - crawl_row.budget_left;
    if not found then
        word := 'unknown';
    elsif crawl_row.state = 'ended' then
        word := 'ended';
    elsif p_name = 'limit' and crawl_row.page_limit is null then
        word := 'unlimited';
    elsif p_name = 'limit' and coalesce(p_value, 0) < used then
        word := 'used';
    else
        word := 'changed';
        case p_name
            when 'limit' then
                update crawls c set page_limit = p_value, budget_left = p_value - used
                 where c.id = p_id;
                perform coordinator.end_if_done(crawl_row.crawl);
            when 'duration_s' then
                update crawls c set ends_at = c.started_at + make_interval(secs => p_value)
                 where c.id = p_id;
            when 'max_store_bytes' then
                update crawls c set max_store_bytes = p_value where c.id = p_id;
        end case;
    end if;
end $$;
