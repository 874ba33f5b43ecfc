-- Pauses or resumes a scan, or one stage of it (p_kind not null). False: nothing to change.
create or replace function coordinator.pause_scan(p_scan integer, p_kind text, p_pause boolean)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    if p_kind is not null then
        update stages set paused = p_pause where scan = p_scan and kind = p_kind::job_kind;
    else
        update scans set state = case when p_pause then 'paused' else 'running' end::scan_state
         where scan = p_scan
           and state = case when p_pause then 'running' else 'paused' end::scan_state;
    end if;
    return found;
end $$;
