create or replace function coordinator.load_exclusions(p_scan integer, p_after integer)
returns table (version integer, kind text, pattern text, excluded_at timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select e.version, e.kind, e.pattern, e.excluded_at from scan_exclusions e
     where e.scan = p_scan and e.version > p_after order by e.version;
$$;
