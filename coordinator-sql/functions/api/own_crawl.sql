-- Returns a key's crawl. Raises not_found if the key does not have it.
create or replace function api.own_crawl(p_key text, p_id uuid)
returns everytab.crawls language plpgsql stable set search_path = everytab, pg_temp as $$
declare
    crawl_row crawls;
begin
    select c.* into crawl_row from crawls c join api_crawls a on a.crawl = c.crawl
     where c.id = p_id and a.key = p_key and c.dropped_at is null;
    if not found then
        perform api.refuse('not_found', null);
    end if;
    return crawl_row;
end $$;
