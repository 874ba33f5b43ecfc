-- Crawls that were started with the filter keep their copy.
create or replace function coordinator.put_filter(
    p_id uuid, p_owner text, p_name text, p_body jsonb)
returns table (id uuid, owner text, name text, version integer, body jsonb,
               changed_at timestamptz)
language sql security definer set search_path = everytab, pg_temp as $$
    insert into filters as f (id, owner, name, body) values (p_id, p_owner, p_name, p_body)
    on conflict on constraint filters_owner_name_key do update
       set body = excluded.body, version = f.version + 1, changed_at = now()
    returning f.id, f.owner, f.name, f.version, f.body, f.changed_at;
$$;
