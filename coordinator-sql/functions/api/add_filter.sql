-- Only the operator may name a classifier, because a classifier is a program that runs on the
-- workers' hosts.
create or replace function api.add_filter(
    p_key text, p_secret bytea, p_request_name text, p_request bytea, p_id uuid, p_name text,
    p_body jsonb)
returns table (id uuid, owner text, name text, version integer, body jsonb,
               changed_at timestamptz, is_repeated boolean)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Limits a key's filters to about 50 MB, at up to 512 KiB per filter.
    max_filters constant integer := 100;
    key_owner text := 'key:' || p_key;
    known jsonb;
    kept filters;
begin
    perform api.check_key(p_key, p_secret, 1);
    if p_request_name is not null then
        known := api.find_answer(p_key, p_request_name, p_request);
    end if;
    if known is not null then
        return query
        select (known ->> 'id')::uuid, key_owner, p_name, 1, p_body,
               (known ->> 'changed_at')::timestamptz, true;
        return;
    end if;
    perform api.check_filter(p_body);
    if exists (select from filters f where f.owner = key_owner and f.name = p_name) then
        perform api.refuse('name_taken', null);
    elsif (select count(*) from filters f where f.owner = key_owner) >= max_filters then
        perform api.refuse('not_allowed', jsonb_build_object('limit', max_filters));
    end if;
    perform coordinator.put_filter(p_id, key_owner, p_name, p_body);
    select * into kept from filters f where f.id = p_id;
    perform api.keep_answer(p_key, p_request_name, p_request, jsonb_build_object(
        'id', kept.id, 'changed_at', kept.changed_at));
    return query
    select kept.id, kept.owner, kept.name, kept.version, kept.body, kept.changed_at, false;
end $$;
