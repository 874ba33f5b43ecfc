-- Like api.check_key, but the commit does not wait for the WAL flush, because a key could
-- otherwise make no more reads per second than the disk can flush. The transaction must not
-- write anything else.
create or replace function api.check_reader(p_key text, p_secret bytea, p_cost double precision)
returns everytab.api_keys language plpgsql set search_path = everytab, pg_temp as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    return api.check_key(p_key, p_secret, p_cost);
end $$;
