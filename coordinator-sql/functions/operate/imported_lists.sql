create or replace function coordinator.imported_lists()
returns table (list text, source text, imported_at timestamptz, patterns bigint)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select l.list, l.source, l.imported_at, l.patterns from imported_lists l order by 1;
$$;
