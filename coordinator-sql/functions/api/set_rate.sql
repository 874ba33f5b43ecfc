-- Null sets the operator's limit for this key, and a value beyond that limit is rejected.
create or replace function api.set_rate(
    p_key text, p_secret bytea, p_id uuid, p_name text, p_value double precision)
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    key_row api_keys := api.check_key(p_key, p_secret, 1);
begin
    if p_name = 'rate' and p_value > key_row.rate then
        perform api.refuse('not_allowed', jsonb_build_object('limit', key_row.rate));
    elsif p_name = 'min_delay_ms' and p_value < key_row.min_delay_ms then
        perform api.refuse('not_allowed', jsonb_build_object('limit', key_row.min_delay_ms));
    elsif p_id is not null then
        perform api.own_crawl(p_key, p_id);
    end if;
    if not coordinator.set_crawl_rate('key:' || p_key, p_id, p_name, p_value) then
        perform api.refuse('crawl_ended', null);
    end if;
end $$;
