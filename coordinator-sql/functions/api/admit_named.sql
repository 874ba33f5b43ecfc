-- Returns true if this idempotency key already has a response.
create or replace function api.admit_named(
    p_key text, p_secret bytea, p_name text, p_request bytea)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Less than in find_answer, so that a response found here does not expire before it is
    -- used.
    kept_for constant interval := interval '23 hours';
begin
    perform api.check_reader(p_key, p_secret, 0);
    return exists (select from api_answers a
                    where a.key = p_key and a.name = p_name and a.request_sha256 = p_request
                      and a.at > clock_timestamp() - kept_for);
end $$;
