-- If a quota prevents the crawl from being resumed, raises this quota's error.
create or replace function api.move_crawl(p_key text, p_secret bytea, p_id uuid, p_verb text)
returns table (state text, ended_by text)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    moved record;
begin
    perform api.check_key(p_key, p_secret, 1);
    perform api.own_crawl(p_key, p_id);
    select * into moved from coordinator.move_crawl(p_id, p_verb);
    if p_verb = 'resume' and moved.paused_by is not null then
        perform api.refuse(moved.paused_by, null);
    end if;
    state := moved.state;
    ended_by := moved.ended_by;
    return next;
end $$;
