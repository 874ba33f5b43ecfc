-- Opens the run that writes a crawl's indexes and lists. The crawl has ended, and the caller
-- has locked its row.
create or replace function coordinator.open_crawl_run(p_crawl integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- A job reads this many rows within a minute or two. In a crawl with 100 million pages, a
    -- job has only one slot.
    max_rows constant numeric := 400000;
    -- The number of slots, because a job has at least one slot.
    slots constant integer := 256;
    -- One minute, so that a dead worker's job is repeated soon, but a renewal may fail twice.
    lease_ms constant integer := 60000;
    new_run integer;
    rows_of_crawl numeric;
    -- Within this time, other workers notice that the crawl has ended and upload its remaining
    -- records, such as robots.txt files, to which no fetch refers.
    others_put constant interval := '15 seconds';
begin
    new_run := coordinator.start_run(
        'crawl', lease_ms, '{}', array['crawl-index', 'crawl-close']::job_kind[]);
    update crawls c set run = new_run where c.crawl = p_crawl;
    select coalesce(sum(s.captured + s.failed), 0) into rows_of_crawl
      from crawl_slots s where s.crawl = p_crawl;
    perform coordinator.open_stage(
        new_run, 'crawl-index', greatest(1, least(slots, ceil(rows_of_crawl / max_rows)))::integer);
    if (select count(*) from workers) > 1 then
        update jobs j set not_before = clock_timestamp() + others_put
         where j.run = new_run and j.kind = 'crawl-index';
    end if;
end $$;
