-- Null if the crawl does not exist or is being removed.
create or replace function coordinator.index_crawl(p_id uuid)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    crawl_row crawls;
    run_state run_state;
begin
    select * into crawl_row from crawls c where c.id = p_id;
    if not found or crawl_row.dropping_at is not null then
        return null;
    elsif crawl_row.state <> 'ended' then
        return 'not_ended';
    end if;
    select r.state into run_state from runs r where r.run = crawl_row.run;
    if crawl_row.run is null or run_state = 'cancelled' then
        -- If several sessions call this, only one opens the run.
        perform from crawls c where c.id = p_id and c.run is not distinct from crawl_row.run
           for no key update;
        if found then
            perform coordinator.open_crawl_run(crawl_row.crawl);
        end if;
        return 'opened';
    -- The crawl's row must not be locked here, because this locks jobs, and a transaction that
    -- has locked jobs may be waiting for the row.
    elsif (select coordinator.retry_jobs(
                      crawl_row.run, array_agg(j.job_id), array_agg(j.lease_number)) > 0
             from coordinator.retriable_jobs(crawl_row.run, null, null, null) j
           having count(*) > 0) then
        return 'reopened';
    end if;
    return case run_state when 'finished' then 'written' else 'running' end;
end $$;
