-- Ends a restore: the scan has its own state and settings again. False: the mark is not at
-- p_before.
create or replace function coordinator.restore_end(
    p_scan integer, p_row jsonb, p_before jsonb)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update scans s set settings = p_row -> 'settings', state = (p_row ->> 'state')::scan_state
     where s.scan = p_scan and s.settings ? 'restoring'
       and s.settings -> 'restoring' -> 'done' is not distinct from p_before;
    return found;
end $$;
