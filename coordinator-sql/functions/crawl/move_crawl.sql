-- If a crawl should be resumed but its owner may not crawl, it remains paused for this reason
-- and continues automatically later.
create or replace function coordinator.move_crawl(p_id uuid, p_verb text)
returns table (state text, ended_by text, paused_by text)
language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    crawl_row crawls;
    hold text;
begin
    select * into crawl_row from crawls c where c.id = p_id for no key update;
    if not found then
        return;
    end if;
    if crawl_row.state <> 'ended' then
        case p_verb
            when 'pause' then
                update crawls c set state = 'paused', paused_by = 'operator'
                 where c.crawl = crawl_row.crawl;
            when 'resume' then
                hold := coordinator.hold_of_owner(crawl_row.owner);
                update crawls c
                   set state = case when hold is null then 'running' else 'paused' end,
                       paused_by = hold
                 where c.crawl = crawl_row.crawl;
            when 'cancel' then
                perform coordinator.end_crawl(crawl_row.crawl, 'cancel');
        end case;
    end if;
    return query
    select c.state, c.ended_by, c.paused_by from crawls c where c.crawl = crawl_row.crawl;
end $$;
