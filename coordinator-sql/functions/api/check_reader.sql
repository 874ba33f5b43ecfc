-- As api.check_key, for a request that changes nothing but the level of its key's bucket: its
-- commit does not wait for the log to be flushed. Else a key could not read more often than the
-- disk flushes. A crash of the server forgets the levels of half a second. The setting lasts until
-- the end of the transaction, so nothing else may be written in it.
create or replace function api.check_reader(p_key text, p_secret bytea, p_cost double precision)
returns everytab.api_keys language plpgsql set search_path = everytab, pg_temp as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    return api.check_key(p_key, p_secret, p_cost);
end $$;
