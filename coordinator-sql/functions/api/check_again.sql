-- Raises an error if the settings repeat a crawl that belongs to another key or has not ended.
create or replace function api.check_again(p_key text, p_settings jsonb)
returns void language plpgsql stable set search_path = everytab, pg_temp as $$
declare
    earlier crawls;
begin
    if p_settings->>'again' is null then
        return;
    end if;
    select c.* into earlier from api_crawls a join crawls c on c.crawl = a.crawl
     where a.key = p_key and c.id = (p_settings->>'again')::uuid and c.dropping_at is null;
    if earlier.crawl is null then
        perform api.refuse('not_found', null);
    elsif earlier.state <> 'ended' then
        perform api.refuse('crawl_open', jsonb_build_object(
            'reason', 'settings.again: the crawl has not ended'));
    end if;
end $$;
