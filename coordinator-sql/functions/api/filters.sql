-- If p_id and p_names are null, omits the bodies, which are large.
create or replace function api.filters(
    p_key text, p_secret bytea, p_id uuid, p_names text[])
returns table (id uuid, owner text, name text, version integer, body jsonb,
               changed_at timestamptz)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, 1);
    return query
    select f.id, f.owner, f.name, f.version,
           case when p_id is null and p_names is null then 'null' else f.body end, f.changed_at
      from filters f
     where f.owner = 'key:' || p_key and (p_id is null or f.id = p_id)
       and (p_names is null or f.name = any (p_names))
     order by f.name;
    if p_id is not null and not found then
        perform api.refuse('not_found', null);
    end if;
end $$;
