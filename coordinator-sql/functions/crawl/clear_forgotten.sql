-- Called when no archive contains these forgotten URLs and sites any longer. Skips those that
-- were forgotten again since p_forgotten_at. Clears nothing while an index is being written
-- that may contain one of them.
create or replace function coordinator.clear_forgotten(
    p_numbers integer[], p_forgotten_at timestamptz[])
returns integer language plpgsql set search_path = everytab, pg_temp as $$
declare
    concerned integer[];
    cleared integer[];
    indexed integer;
begin
    concerned := array(
        select distinct f.crawl
          from unnest(p_numbers) number cross join coordinator.forgotten_fetches(number) f
         order by f.crawl);
    if exists (select from crawls c join runs r on r.run = c.run
                where c.crawl = any (concerned)
                  and r.state not in ('finished', 'finished_with_discards', 'cancelled')) then
        return 0;
    end if;
    with done as (
        update forgotten g set cleared_at = clock_timestamp()
          from unnest(p_numbers, p_forgotten_at) asked (number, forgotten_at)
         where g.number = asked.number and g.forgotten_at = asked.forgotten_at
        returning g.number)
    select coalesce(array_agg(number), '{}') into cleared from done;
    delete from fetch_texts t
     using (select f.crawl, f.host_hash, f.url_hash
              from unnest(cleared) number
             cross join coordinator.forgotten_fetches(number) f) f
     where t.crawl = f.crawl and t.host_hash = f.host_hash and t.url_hash = f.url_hash;
    -- This is the only update of fetches.
    update fetches u
       set title = null, etag = null, last_modified = null, redirect = null, sha256 = null
      from (select f.crawl, f.host_hash, f.url_hash
              from unnest(cleared) number
             cross join coordinator.forgotten_fetches(number) f) f
     where u.crawl = f.crawl and u.host_hash = f.host_hash and u.url_hash = f.url_hash;
    for indexed in
        select c.crawl from crawls c
          join runs r on r.run = c.run and r.state in ('finished', 'finished_with_discards')
         where c.crawl = any (concerned) and c.state = 'ended' order by c.crawl
    loop
        perform coordinator.open_crawl_run(indexed);
    end loop;
    return cardinality(cleared);
end $$;
