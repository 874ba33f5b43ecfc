create or replace function api.fetch_state(
    p_key text, p_secret bytea, p_crawl integer, p_host bigint, p_url bigint)
returns setof everytab.api_fetch
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, 1);
    return query
    select (s.fetched).*
      from api.fetch_states(array[p_key], array[p_secret], array[p_crawl], array[p_host],
                            array[p_url]) s;
    if not found then
        perform api.refuse('not_found', null);
    end if;
end $$;
