-- Finds the crawl for a submitted URL: the crawl with a capture that is at most p_max_age_s
-- old, otherwise the named or the standing crawl. If the URL is settled in the standing crawl
-- but its capture is too old, a new standing crawl fetches it again. The caller holds the key's
-- usage row and these crawls' rows.
create or replace function api.find_target(
    p_key text, p_store text, p_settings jsonb, p_verdict everytab.api_verdict, p_crawl uuid,
    p_host bigint, p_url bigint, p_max_age_s integer)
returns everytab.api_verdict language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- A replaced crawl ends when its hosts have responded.
    retry_after_s constant integer := 10;
    verdict api_verdict := p_verdict;
    named record;
    answered_in integer;
    standing integer;
begin
    if p_crawl is not null then
        select c.crawl, c.state into named
          from crawls c join api_crawls a on a.crawl = c.crawl
         where c.id = p_crawl and a.key = p_key;
        if not found then
            verdict.code := 'not_found';
            return verdict;
        end if;
    end if;
    if p_max_age_s is not null then
        answered_in := api.young_capture(p_key, p_host, p_url, p_max_age_s);
        if answered_in is not null then
            verdict.crawl := answered_in;
            verdict.is_answered := true;
            return verdict;
        end if;
    end if;
    if p_crawl is not null then
        verdict.crawl := named.crawl;
        verdict.code := case when named.state = 'ended' then 'crawl_ended' end;
        -- A crawl fetches a URL once, so its capture does not become newer.
        verdict.is_answered := verdict.code is null
                               and api.is_settled(named.crawl, p_host, p_url);
        return verdict;
    end if;
    standing := api.standing_crawl(p_key, p_store, p_settings, false);
    if api.is_settled(standing, p_host, p_url) then
        verdict.is_answered := p_max_age_s is null;
        if not verdict.is_answered then
            standing := api.standing_crawl(p_key, p_store, p_settings, true);
        end if;
    end if;
    if standing is null then
        verdict.code := 'throttled';
        verdict.detail := jsonb_build_object('retry_after_s', retry_after_s);
    end if;
    verdict.crawl := standing;
    return verdict;
end $$;
