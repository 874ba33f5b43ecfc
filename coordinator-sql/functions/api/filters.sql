-- Filters of a key by name: all, the one of p_id, or those of p_names. One that is missing does not
-- exist for the key.
create or replace function api.filters(
    p_key text, p_secret bytea, p_id uuid, p_names text[])
returns table (id uuid, owner text, name text, version integer, body jsonb,
               changed_at timestamptz)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, 1);
    return query
    select l.* from coordinator.list_filters('key:' || p_key, p_names) l
     where p_id is null or l.id = p_id;
    if p_id is not null and not found then
        perform api.refuse('not_found', null);
    end if;
end $$;
