-- Opens the run whose jobs write what a crawl leaves: crawl-index jobs, each for a range of slots,
-- then crawl-close. The caller holds the row of the crawl, which has ended.
create or replace function coordinator.open_crawl_run(p_crawl integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- A job reads so many rows within a minute or two; one of a crawl of 100 million pages has one
    -- slot.
    max_rows constant numeric := 400000;
    -- As many slots as there are: a job has one at least.
    slots constant integer := 256;
    -- A minute: what dies in a job is done again soon, and a renewal may fail twice.
    lease_ms constant integer := 60000;
    new_run integer;
    rows_of_crawl numeric;
    -- Other workers learn of the end within seconds, and put what they hold of the crawl:
    -- robots.txt, of which no fetch tells.
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
