create or replace function coordinator.filter_lists(p_names text[])
returns table (name text, version integer, kind text, store text, object text, sha256 bytea,
               entries bigint, bytes bigint, categories jsonb, source text,
               imported_at timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select distinct on (l.name) l.name, l.version, l.kind, l.store, l.object, l.sha256, l.entries,
           l.bytes, l.categories, l.source, l.imported_at
      from filter_lists l where p_names is null or l.name = any (p_names)
     order by l.name, l.version desc;
$$;
