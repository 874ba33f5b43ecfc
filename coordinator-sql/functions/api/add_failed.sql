-- Charges one request for any number of URLs, because the service has read them from the
-- database. Returns false if the crawl has ended.
create or replace function api.add_failed(
    p_key text, p_secret bytea, p_id uuid, p_is_last boolean,
    p_links everytab.link_row[])
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    key_row api_keys := api.check_key(p_key, p_secret, 1);
begin
    perform api.use_urls(key_row, (select coalesce(sum(l.amount), 0) from unnest(p_links) l));
    return coordinator.add_links((api.own_crawl(p_key, p_id)).crawl, p_is_last, p_links);
end $$;
