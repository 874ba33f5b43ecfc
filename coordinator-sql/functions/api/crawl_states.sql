-- Returns states by their array position from 1, and omits a crawl if its key is invalid or
-- another key owns it.
create or replace function api.crawl_states(p_keys text[], p_secrets bytea[], p_ids uuid[])
returns table (number bigint, state text, ended_by text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select x.number, c.state, c.ended_by
      from unnest(p_keys, p_secrets, p_ids) with ordinality x (key, secret, id, number)
      join crawls c on c.id = x.id
      join api_crawls a on a.crawl = c.crawl and a.key = x.key
     where api.is_key(x.key, x.secret);
$$;
