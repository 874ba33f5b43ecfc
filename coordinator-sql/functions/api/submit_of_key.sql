-- p_numbers contains array positions. Each accepted URL is charged as one request. The caller
-- holds the key's usage row and the rows of all named crawls.
create or replace function api.submit_of_key(
    p_key everytab.api_keys, p_store text, p_settings jsonb, p_numbers bigint[], p_crawls uuid[],
    p_hosts bigint[], p_urls bigint[], p_max_ages integer[], p_may_be_urgent boolean[])
returns everytab.api_verdict[] language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Maximum urgent URLs in a burst, which is also the rate per minute over a longer time.
    urgent_burst constant integer := 60;
    -- Limit urgent_per_second = 1: see urgent_burst.
    urgent_per_second constant integer := 1;
    usage api_usage;
    now_at timestamptz;
    today date;
    quota record;
    submitted bigint := 0;
    place bigint;
    verdict api_verdict;
    verdicts api_verdict[] := '{}';
begin
    quota := api.quota_reached(p_key, 0);
    select * into usage from api_usage u where u.key = p_key.key;
    now_at := greatest(usage.at, clock_timestamp());
    today := (clock_timestamp() at time zone 'UTC')::date;
    usage.level := api.leaked(usage.level, usage.at, p_key.requests_per_second, now_at);
    usage.urgent_level := api.leaked(usage.urgent_level, usage.urgent_at, urgent_per_second,
                                     now_at);
    usage.urls := case when usage.urls_day = today then usage.urls else 0 end;
    foreach place in array p_numbers loop
        verdict.number := place;
        verdict.code := null;
        verdict.detail := null;
        verdict.crawl := null;
        verdict.is_urgent := false;
        verdict.is_answered := false;
        if usage.level + 1 > p_key.burst then
            verdict.code := 'throttled';
            verdict.detail := jsonb_build_object(
                'retry_after_s',
                ceil((usage.level + 1 - p_key.burst) / p_key.requests_per_second),
                'free_after_s', (usage.level + 1 - p_key.burst) / p_key.requests_per_second);
        else
            verdict := api.find_target(p_key.key, p_store, p_settings, verdict,
                                       p_crawls[place], p_hosts[place],
                                       p_urls[place], p_max_ages[place]);
        end if;
        if verdict.code is null and not verdict.is_answered then
            if quota.code is not null then
                verdict.code := quota.code;
                verdict.detail := quota.detail;
            elsif usage.urls + submitted + 1 > p_key.urls_a_day then
                select r.code, r.detail into verdict.code, verdict.detail
                  from api.quota_reached(p_key, submitted + 1) r;
            else
                submitted := submitted + 1;
                verdict.is_urgent := p_may_be_urgent[place]
                                     and usage.urgent_level + 1 <= urgent_burst;
                usage.urgent_level := usage.urgent_level + verdict.is_urgent::integer;
            end if;
        end if;
        if verdict.code is null then
            usage.level := usage.level + 1;
        end if;
        verdicts := verdicts || verdict;
    end loop;
    update api_usage u
       set level = usage.level, at = now_at, urgent_level = usage.urgent_level, urgent_at = now_at,
           urls = usage.urls + submitted, urls_day = today
     where u.key = p_key.key;
    return verdicts;
end $$;
