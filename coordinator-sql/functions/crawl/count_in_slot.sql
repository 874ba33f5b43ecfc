-- The caller has checked the slot's fence. Returns closed if the crawl had ended before, and
-- then adds nothing.
--
-- Locks are taken in one order: the slot, then, for each crawl in ascending order, the crawl's
-- row if these counts may end it, and the row with its sums in this slot.
create or replace function coordinator.count_in_slot(
    p_slot smallint, p_crawl integer, p_known bigint, p_pending bigint, p_captured bigint,
    p_failed jsonb, p_refused jsonb, p_left jsonb, p_links_refused jsonb, p_sent bigint,
    p_read bigint, p_pages bigint, p_given_back bigint, p_stored_bytes bigint)
returns text language plpgsql set search_path = everytab, pg_temp as $$
declare
    crawl_row crawls;
    sums crawl_slots;
    reserved_left bigint;
    may_end boolean;
begin
    if p_known is distinct from p_pending + p_captured
            + coordinator.sum_counts(p_failed) + coordinator.sum_counts(p_refused)
            + coordinator.sum_counts(p_left) then
        raise exception 'crawl % in slot %: known is not the sum of pending and finished URLs',
            p_crawl, p_slot using errcode = 'invalid_parameter_value';
    end if;
    select * into sums from crawl_slots s where s.crawl = p_crawl and s.slot = p_slot;
    if not found then
        -- A crawl must not end while its row for another slot is being added. A shared lock
        -- would not suffice, because two transactions that upgrade it below would deadlock.
        perform from crawls c
          where c.crawl = p_crawl and c.state <> 'ended' for no key update;
        if not found then
            return 'closed';
        end if;
        insert into crawl_slots (crawl, slot) values (p_crawl, p_slot) returning * into sums;
    end if;
    -- Only the caller, the slot's holder, changes reserved and pending.
    reserved_left := sums.reserved - p_pages - p_given_back;
    select * into crawl_row from crawls c where c.crawl = p_crawl;
    may_end := sums.pending + p_pending = 0
               or crawl_row.budget_left is not null and reserved_left = 0 or p_given_back > 0;
    if may_end then
        select * into crawl_row from crawls c where c.crawl = p_crawl for no key update;
    end if;
    update crawl_slots s
       set known = s.known + p_known, pending = s.pending + p_pending,
           captured = s.captured + p_captured,
           failed = s.failed + coordinator.sum_counts(p_failed),
           failures = coordinator.add_counts(s.failures, p_failed),
           refused = coordinator.add_counts(s.refused, p_refused),
           "left" = coordinator.add_counts(s."left", p_left),
           links_refused = coordinator.add_counts(s.links_refused, p_links_refused),
           sent = s.sent + p_sent, read = s.read + p_read,
           stored_bytes = s.stored_bytes + p_stored_bytes,
           reserved = s.reserved - p_pages - p_given_back
     where s.crawl = p_crawl and s.slot = p_slot and not s.closed;
    if not found then
        return 'closed';
    end if;
    if p_given_back > 0 then
        update crawls c set budget_left = c.budget_left + p_given_back where c.crawl = p_crawl;
    end if;
    return case when may_end and coordinator.end_if_done(p_crawl) then 'ended' else 'open' end;
end $$;
