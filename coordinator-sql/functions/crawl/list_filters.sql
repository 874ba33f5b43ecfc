create or replace function coordinator.list_filters(p_owner text, p_names text[])
returns table (id uuid, owner text, name text, version integer, body jsonb,
               changed_at timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select f.id, f.owner, f.name, f.version, f.body, f.changed_at from filters f
     where f.owner = p_owner and (p_names is null or f.name = any (p_names)) order by f.name;
$$;
