create or replace function api.keep_answer(
    p_key text, p_name text, p_request bytea, p_answer jsonb)
returns void language sql set search_path = everytab, pg_temp as $$
    insert into api_answers (key, name, request_sha256, answer)
    select p_key, p_name, p_request, p_answer where p_name is not null;
$$;
