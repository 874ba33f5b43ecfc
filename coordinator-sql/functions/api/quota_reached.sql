-- The caller holds the key's usage row.
create or replace function api.quota_reached(
    p_key everytab.api_keys, p_urls bigint, out code text, out detail jsonb)
language plpgsql set search_path = everytab, pg_temp as $$
declare
    used record := coordinator.key_use(p_key.key);
    -- Daily quotas are reset at 00:00 UTC.
    now_at timestamp := clock_timestamp() at time zone 'UTC';
    retry_after_s integer := ceil(extract(epoch from (now_at::date + 1)::timestamp - now_at));
begin
    if used.pages_today >= p_key.pages_a_day then
        code := 'quota_pages';
        detail := jsonb_build_object('limit', p_key.pages_a_day, 'used', used.pages_today,
                                     'retry_after_s', retry_after_s);
    elsif used.bytes_kept >= p_key.max_bytes then
        code := 'quota_bytes';
        detail := jsonb_build_object('limit', p_key.max_bytes, 'used', used.bytes_kept);
    elsif used.urls_today + p_urls > p_key.urls_a_day then
        code := 'quota_urls';
        detail := jsonb_build_object('limit', p_key.urls_a_day, 'used', used.urls_today,
                                     'retry_after_s', retry_after_s);
    end if;
end $$;
