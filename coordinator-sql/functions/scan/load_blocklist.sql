-- An icon job sends no requests to these hosts, even if another host's page names them.
-- Imported lists have a million names, so they are compared only when hosts are loaded.
create or replace function coordinator.load_blocklist(p_scan integer)
returns table (kind text, pattern text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select b.kind, b.pattern from scan_blocklist b
     where b.scan = p_scan and b.kind in ('hostname', 'suffix') and not b.imported
     order by b.kind, b.pattern;
$$;
