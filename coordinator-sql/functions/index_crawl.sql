-- Has the indexes of a crawl written: opens a run for one that has none, and does what was
-- discarded again. Returns a word: opened, reopened, running, written, cancelled or not_ended; null
-- where there is no such crawl.
create or replace function coordinator.index_crawl(p_id uuid)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    crawl_row crawls;
begin
    select * into crawl_row from crawls c where c.id = p_id for no key update;
    if not found then
        return null;
    elsif crawl_row.state <> 'ended' then
        return 'not_ended';
    elsif crawl_row.run is null then
        perform coordinator.open_crawl_run(crawl_row.crawl);
        return 'opened';
    elsif coordinator.retry_jobs(crawl_row.run, null, null, null) > 0 then
        return 'reopened';
    end if;
    return (select case r.state when 'finished' then 'written'
                                when 'cancelled' then 'cancelled' else 'running' end
              from runs r where r.run = crawl_row.run);
end $$;
