-- Like api.check_key, but for a request that writes nothing except its key's bucket level. The
-- commit does not wait for the WAL flush. Otherwise a key could make no more reads per second
-- than the disk can flush. A server crash can lose the last half second of level changes.
-- `synchronous_commit` stays off until the transaction ends, so the transaction must write
-- nothing else.
create or replace function api.check_reader(p_key text, p_secret bytea, p_cost double precision)
returns everytab.api_keys language plpgsql set search_path = everytab, pg_temp as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    return api.check_key(p_key, p_secret, p_cost);
end $$;
