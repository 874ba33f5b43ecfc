-- Pauses, resumes or cancels a crawl, by p_verb. Returns its state and what ended it; no row: there
-- is no such crawl. What has ended stays so.
create or replace function coordinator.move_crawl(p_id uuid, p_verb text)
returns table (state text, ended_by text)
language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    crawl_row crawls;
begin
    select * into crawl_row from crawls c where c.id = p_id for no key update;
    if not found then
        return;
    end if;
    if crawl_row.state <> 'ended' then
        case p_verb
            when 'pause' then
                update crawls c set state = 'paused' where c.crawl = crawl_row.crawl;
            when 'resume' then
                update crawls c set state = 'running' where c.crawl = crawl_row.crawl;
            when 'cancel' then
                perform coordinator.end_crawl(crawl_row.crawl, 'cancel');
        end case;
    end if;
    return query select c.state, c.ended_by from crawls c where c.crawl = crawl_row.crawl;
end $$;
