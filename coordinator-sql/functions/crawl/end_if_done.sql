-- The caller has locked the crawl's row. Raises ET012 unless the transaction is read committed:
-- otherwise it would not see the changes that other slots committed while it waited for the
-- row, and the crawl would never end.
create or replace function coordinator.end_if_done(p_crawl integer)
returns boolean language plpgsql set search_path = everytab, pg_temp as $$
declare
    crawl_row crawls;
    sums record;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'a live crawl must be changed in a read committed transaction, not %',
            current_setting('transaction_isolation')
            using errcode = 'ET012';
    end if;
    select * into crawl_row from crawls where crawl = p_crawl;
    if crawl_row.state = 'ended' then
        return true;
    end if;
    select coalesce(sum(s.sent), 0) + crawl_row.seeds = coalesce(sum(s.read), 0) as all_read,
           coalesce(sum(s.pending), 0) as pending, coalesce(sum(s.reserved), 0) as reserved
      into sums from crawl_slots s where s.crawl = p_crawl;
    if sums.all_read and sums.pending = 0 and not crawl_row.seeding then
        perform coordinator.end_crawl(p_crawl, 'empty');
        return true;
    elsif crawl_row.budget_left = 0 and sums.reserved = 0 then
        perform coordinator.end_crawl(p_crawl, 'limit');
        return true;
    end if;
    return false;
end $$;
