-- A bundle-shard job compares these patterns itself, because case folding by ilike depends on
-- the database's locale.
create or replace function coordinator.load_title_patterns(p_scan integer)
returns setof text language sql stable security definer set search_path = everytab, pg_temp as $$
    select b.pattern from scan_blocklist b
     where b.scan = p_scan and b.kind = 'title' order by b.pattern;
$$;
