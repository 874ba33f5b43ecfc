-- Records that only a crawl's row and its totals are left, and subtracts its bytes from its
-- key's stored bytes.
create or replace function coordinator.finish_drop(p_crawl integer)
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update crawls c set dropped_at = clock_timestamp()
     where c.crawl = p_crawl and c.dropping_at is not null and c.dropped_at is null;
    if found then
        update api_usage u
           set ended_bytes = greatest(0, u.ended_bytes - t.stored_bytes)
          from api_crawls a join crawl_totals t on t.crawl = a.crawl
         where a.crawl = p_crawl and a.is_counted and u.key = a.key;
    end if;
end $$;
