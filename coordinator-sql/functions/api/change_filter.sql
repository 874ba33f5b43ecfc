create or replace function api.change_filter(
    p_key text, p_secret bytea, p_id uuid, p_body jsonb)
returns table (id uuid, owner text, name text, version integer, body jsonb,
               changed_at timestamptz)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_key(p_key, p_secret, 1);
    perform api.check_filter(p_body);
    return query
    update filters f set body = p_body, version = f.version + 1, changed_at = now()
     where f.id = p_id and f.owner = 'key:' || p_key
    returning f.id, f.owner, f.name, f.version, f.body, f.changed_at;
    if not found then
        perform api.refuse('not_found', null);
    end if;
end $$;
