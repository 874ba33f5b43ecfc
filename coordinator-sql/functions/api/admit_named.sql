-- Checks a key, before a request whose work takes from its bucket. True: the key was answered
-- before to the request that the client gave this name, and will be answered the same.
create or replace function api.admit_named(
    p_key text, p_secret bytea, p_name text, p_request bytea)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- An hour less than find_answer has it: what is known now is known when it is asked for.
    kept_for constant interval := interval '23 hours';
begin
    perform api.check_reader(p_key, p_secret, 0);
    return exists (select from api_answers a
                    where a.key = p_key and a.name = p_name and a.request_sha256 = p_request
                      and a.at > clock_timestamp() - kept_for);
end $$;
