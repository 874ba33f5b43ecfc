-- Raises an error if the request differs from the earlier one. The caller holds the key's usage
-- row.
create or replace function api.find_answer(p_key text, p_name text, p_request bytea)
returns jsonb language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Clients retry within minutes.
    kept_for constant interval := '24 hours';
    known api_answers;
begin
    delete from api_answers a where a.key = p_key and a.at < clock_timestamp() - kept_for;
    select * into known from api_answers a where a.key = p_key and a.name = p_name;
    if known.request_sha256 <> p_request then
        perform api.refuse('idempotency_mismatch', null);
    end if;
    return known.answer;
end $$;
