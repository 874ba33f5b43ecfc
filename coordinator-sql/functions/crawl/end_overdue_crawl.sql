-- Ends at most one crawl per call, because a transaction that held two crawls' rows and waited
-- for slot rows could deadlock with a checkpoint of both crawls. Skips crawls whose rows are
-- locked.
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
