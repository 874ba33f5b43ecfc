create or replace function api.start_crawl(
    p_key text, p_secret bytea, p_name text, p_request bytea, p_crawl everytab.new_crawl,
    p_is_last boolean, p_links everytab.link_row[],
    out crawl integer, out crawl_id uuid, out crawl_name text, out is_repeated boolean)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    urls bigint := (select coalesce(sum(l.amount), 0) from unnest(p_links) l);
    key_row api_keys := api.check_key(p_key, p_secret, api.cost_of(urls));
    known jsonb;
    open integer;
begin
    if p_name is not null then
        known := api.find_answer(p_key, p_name, p_request);
    end if;
    is_repeated := known is not null;
    if is_repeated then
        crawl := known ->> 'crawl';
        crawl_id := known ->> 'crawl_id';
        crawl_name := known ->> 'crawl_name';
        return;
    end if;
    perform api.check_again(p_key, p_crawl.settings);
    select count(*) into open from api_crawls a join crawls c on c.crawl = a.crawl
     where a.key = p_key and not a.is_counted and not a.is_standing and c.state <> 'ended';
    if open >= key_row.max_crawls then
        perform api.refuse('quota_crawls',
                           jsonb_build_object('limit', key_row.max_crawls, 'used', open));
    end if;
    perform api.use_urls(key_row, urls);
    p_crawl.owner := 'key:' || p_key;
    crawl := coordinator.start_crawl(p_crawl);
    crawl_id := p_crawl.id;
    crawl_name := p_crawl.name;
    perform coordinator.add_links(crawl, p_is_last, api.urgent_lane(p_links, urls));
    perform api.keep_answer(p_key, p_name, p_request, jsonb_build_object(
        'crawl', crawl, 'crawl_id', crawl_id, 'crawl_name', crawl_name));
end $$;
