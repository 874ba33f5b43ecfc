-- Pages are reserved before their URLs are requested, so that the limit is never exceeded.
-- Returns at most a fourth of the slot's share of the remaining pages, but at least one if any
-- is left. Null if the lease is lost.
create or replace function coordinator.reserve_pages(
    p_slot smallint, p_lease_number integer, p_token uuid, p_crawl integer, p_wanted bigint)
returns bigint language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Otherwise fast slots would take all remaining pages.
    parts_per_slot constant integer := 4;
    crawl_row crawls;
    busy_slots bigint;
    granted bigint;
begin
    if (coordinator.check_slot(p_slot, p_lease_number, p_token)).slot is null then
        return null;
    end if;
    select * into crawl_row from crawls
     where crawl = p_crawl and state = 'running' for no key update;
    if coalesce(crawl_row.budget_left, 0) = 0 then
        return 0;
    end if;
    select greatest(count(*), 1) into busy_slots from crawl_slots s
     where s.crawl = p_crawl and s.pending > 0;
    granted := greatest(1, least(p_wanted, crawl_row.budget_left / (parts_per_slot * busy_slots)));
    update crawl_slots s set reserved = s.reserved + granted
     where s.crawl = p_crawl and s.slot = p_slot and s.pending > 0 and not s.closed;
    if not found then
        return 0;
    end if;
    update crawls c set budget_left = c.budget_left - granted where c.crawl = p_crawl;
    return granted;
end $$;
