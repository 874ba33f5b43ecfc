-- Sets the longest that any run of a job of a scan may take (null: by kind). False: the scan has
-- ended.
create or replace function coordinator.set_deadline(p_scan integer, p_deadline_ms bigint)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update scans set deadline_ms = p_deadline_ms
     where scan = p_scan and state in ('running', 'paused');
    return found;
end $$;
