-- Ends a crawl whose time is over, or that has stored its maximum bytes. One per call: a
-- transaction that holds two crawls and waits for one crawl's slots would make a checkpoint of
-- both wait forever. If another transaction holds a crawl's row, it is checked next time. If no
-- time is over, a replaced standing crawl may end now, when it is empty.
create or replace function coordinator.end_overdue_crawl()
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    overdue record;
begin
    select c.crawl, case when c.ends_at <= clock_timestamp() then 'time' else 'store' end as why
      into overdue
      from crawls c
     where c.state <> 'ended'
       and (c.ends_at <= clock_timestamp()
            or c.max_store_bytes <= (select sum(s.stored_bytes) from crawl_slots s
                                      where s.crawl = c.crawl))
     order by c.crawl limit 1 for no key update skip locked;
    if found then
        perform coordinator.end_crawl(overdue.crawl, overdue.why);
        return;
    end if;
    select c.crawl into overdue
      from crawls c join api_crawls a on a.crawl = c.crawl
     where a.is_to_close
     order by c.crawl limit 1 for no key update of c skip locked;
    if found then
        update api_crawls a set is_to_close = false where a.crawl = overdue.crawl;
        update crawls c set seeding = false where c.crawl = overdue.crawl;
        perform coordinator.end_if_done(overdue.crawl);
    end if;
end $$;
