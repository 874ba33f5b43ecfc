-- Raises an error if a quota does not allow all of them. The caller holds the key's usage row.
create or replace function api.use_urls(p_key everytab.api_keys, p_urls bigint)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    today date := (clock_timestamp() at time zone 'UTC')::date;
    reached record := api.quota_reached(p_key, p_urls);
begin
    if reached.code is not null then
        perform api.refuse(reached.code, reached.detail);
    end if;
    update api_usage u
       set urls = case when u.urls_day = today then u.urls else 0 end + p_urls, urls_day = today
     where u.key = p_key.key;
end $$;
