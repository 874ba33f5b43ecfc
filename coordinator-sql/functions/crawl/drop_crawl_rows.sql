-- Deletes at most p_limit rows from each table. Unread links are dropped with their hour's
-- partition.
create or replace function coordinator.drop_crawl_rows(p_crawl integer, p_limit integer)
returns bigint language plpgsql security definer set search_path = everytab, pg_temp
-- Each statement should use an index, even if the planner misjudges the tables' sizes.
set enable_seqscan = off set jit = off as $$
declare
    -- The highest possible hash.
    after_all constant bigint := 9223372036854775807;
    all_slots constant smallint[] := array(select s.slot from slots s order by s.slot);
    crawl_row crawls;
    last_host bigint;
    last_url bigint;
    total bigint := 0;
    amount bigint;
begin
    select * into crawl_row from crawls c where c.crawl = p_crawl for no key update;
    if crawl_row.dropping_at is null then
        raise exception 'the removal of crawl % has not started', p_crawl
            using errcode = 'invalid_parameter_value';
    end if;
    select t.host_hash, t.url_hash into last_host, last_url from fetch_texts t
     where t.crawl = p_crawl order by t.host_hash, t.url_hash offset p_limit - 1 limit 1;
    delete from fetch_texts t
     where t.crawl = p_crawl
       and (t.host_hash, t.url_hash)
           <= (coalesce(last_host, after_all), coalesce(last_url, after_all));
    get diagnostics amount = row_count;
    total := total + amount;
    select f.host_hash, f.url_hash into last_host, last_url from fetches f
     where f.crawl = p_crawl order by f.host_hash, f.url_hash offset p_limit - 1 limit 1;
    delete from fetches f
     where f.crawl = p_crawl
       and (f.host_hash, f.url_hash)
           <= (coalesce(last_host, after_all), coalesce(last_url, after_all));
    get diagnostics amount = row_count;
    total := total + amount;
    delete from frontier_due d
     where d.ctid = any (array(select o.ctid from frontier_due o
                                where o.slot = any (all_slots) and o.crawl = p_crawl
                                limit p_limit));
    get diagnostics amount = row_count;
    total := total + amount;
    delete from frontier_chunks c
     where c.ctid = any (array(select o.ctid from frontier_chunks o
                                where o.slot = any (all_slots) and o.crawl = p_crawl
                                limit p_limit));
    get diagnostics amount = row_count;
    total := total + amount;
    if total > 0 then
        return total;
    end if;
    delete from crawl_archives a
     where a.archive in (select o.archive from crawl_archives o
                          where o.crawl = p_crawl limit p_limit);
    get diagnostics amount = row_count;
    if amount > 0 then
        return amount;
    end if;
    delete from crawl_patterns v where v.crawl = p_crawl;
    delete from crawl_slots s where s.crawl = p_crawl;
    if crawl_row.run is not null then
        -- A worker may still complete one of the run's jobs.
        perform coordinator.lock_tables(array['jobs'], 'exclusive');
        update crawls c set run = null where c.crawl = p_crawl;
        perform coordinator.drop_run(crawl_row.run);
    end if;
    -- A site list may have millions of entries.
    update crawls c set settings = c.settings - 'list_sites' where c.crawl = p_crawl;
    return 0;
end $$;
