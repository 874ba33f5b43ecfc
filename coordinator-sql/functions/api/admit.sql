-- Checks a key and charges one request, or more for many URLs (cost_of).
create or replace function api.admit(p_key text, p_secret bytea, p_urls bigint)
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, api.cost_of(p_urls));
end $$;
