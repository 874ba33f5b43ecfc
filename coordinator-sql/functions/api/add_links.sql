-- Adds all URLs or none; p_id is null for the standing crawl.
create or replace function api.add_links(
    p_key text, p_secret bytea, p_name text, p_request bytea, p_id uuid, p_store text,
    p_settings jsonb, p_is_last boolean, p_links everytab.link_row[],
    out crawl integer, out crawl_id uuid, out crawl_name text)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    urls bigint := (select coalesce(sum(l.amount), 0) from unnest(p_links) l);
    key_row api_keys := api.check_key(p_key, p_secret, api.cost_of(urls));
    known jsonb;
    crawl_row crawls;
begin
    if p_name is not null then
        known := api.find_answer(p_key, p_name, p_request);
    end if;
    if known is not null then
        crawl := known ->> 'crawl';
        crawl_id := known ->> 'crawl_id';
        crawl_name := known ->> 'crawl_name';
        return;
    end if;
    perform api.use_urls(key_row, urls);
    if p_id is null then
        perform from crawls c
          where c.crawl = (select u.standing from api_usage u where u.key = p_key)
            for no key update;
        crawl := api.standing_crawl(p_key, p_store, p_settings, false);
        select * into crawl_row from crawls c where c.crawl = add_links.crawl;
    else
        crawl_row := api.own_crawl(p_key, p_id);
        crawl := crawl_row.crawl;
    end if;
    if not coordinator.add_links(crawl, p_is_last and p_id is not null,
                                 api.urgent_lane(p_links, urls)) then
        perform api.refuse('crawl_ended', null);
    end if;
    crawl_id := crawl_row.id;
    crawl_name := crawl_row.name;
    perform api.keep_answer(p_key, p_name, p_request, jsonb_build_object(
        'crawl', crawl, 'crawl_id', crawl_id, 'crawl_name', crawl_name));
end $$;
