-- The scan is marked as cancelled, so that its jobs cannot be reopened. Deleting many rows
-- takes long, so no table is locked. The scan's jobs and the results of its icon jobs remain
-- until drop_scan, because the names of its archives contain their lease numbers and tokens.
create or replace function coordinator.empty_scan(p_scan integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update runs r set state = 'cancelled'
     where r.run = p_scan and r.state not in ('running', 'paused')
       and exists (select from scans s where s.scan = p_scan);
    if not found then
        return false;
    end if;
    delete from bundles where scan = p_scan;
    delete from index_files where scan = p_scan;
    delete from scan_blocklist where scan = p_scan;
    delete from scan_exclusions where scan = p_scan;
    delete from job_events where run = p_scan;
    delete from job_results where run = p_scan and kind <> 'icon';
    return true;
end $$;
