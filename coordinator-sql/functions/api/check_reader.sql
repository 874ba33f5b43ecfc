-- Like api.check_key, for a request that changes only the level in its key's bucket. Its commit
-- does not wait for the log flush, because otherwise a key could not read more often than the
-- disk flushes. A server crash loses half a second of levels. This setting lasts until the
-- transaction ends, so nothing else may be written in it.
create or replace function api.check_reader(p_key text, p_secret bytea, p_cost double precision)
returns everytab.api_keys language plpgsql set search_path = everytab, pg_temp as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    return api.check_key(p_key, p_secret, p_cost);
end $$;
