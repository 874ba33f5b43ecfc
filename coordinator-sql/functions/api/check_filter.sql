-- Rejects a filter that is not an object or that names a classifier, because a classifier is a
-- program that runs on the workers' hosts.
create or replace function api.check_filter(p_body jsonb)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    if jsonb_typeof(p_body) is distinct from 'object' or p_body ? 'classifier' then
        perform api.refuse('not_allowed', jsonb_build_object('field', 'classifier'));
    end if;
end $$;
