create or replace function api.crawl_hosts(
    p_key text, p_secret bytea, p_id uuid, p_limit integer, p_after_due timestamptz,
    p_after_host bigint)
returns table (hostname text, slot smallint, known integer, pending integer,
               next_due timestamptz, free_at timestamptz, delay_ms integer, response_ms integer,
               crawl_delay_ms integer, failures integer, origins jsonb)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Maximum per response.
    max_rows constant integer := 1000;
begin
    perform api.check_reader(p_key, p_secret, 1);
    perform api.own_crawl(p_key, p_id);
    return query
    select *
      from coordinator.crawl_hosts(p_id, least(p_limit, max_rows), p_after_due, p_after_host);
end $$;
