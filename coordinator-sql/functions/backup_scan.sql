-- A scan's own row, as a backup keeps it. Null: there is no such scan.
create or replace function coordinator.backup_scan(p_scan integer)
returns jsonb language sql stable security definer set search_path = everytab, pg_temp as $$
    select to_jsonb(s) from scans s where s.scan = p_scan;
$$;
