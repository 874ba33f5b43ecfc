create or replace function coordinator.scan_number(p_scan_id uuid)
returns integer language sql stable security definer set search_path = everytab, pg_temp as $$
    select s.scan from scans s where p_scan_id is null or s.scan_id = p_scan_id
     order by s.scan desc limit 1;
$$;
