create or replace function api.failed_urls(
    p_key text, p_secret bytea, p_id uuid, p_after text, p_limit integer)
returns table ("position" text, url text)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, 1);
    perform api.check_again(p_key, jsonb_build_object('again', p_id));
    return query
    select f.* from coordinator.failed_urls((api.own_crawl(p_key, p_id)).crawl, p_after, p_limit) f;
end $$;
