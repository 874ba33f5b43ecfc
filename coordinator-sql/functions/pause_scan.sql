-- Pauses or resumes a scan, or one stage of it (p_kind not null). False: nothing to change.
create or replace function coordinator.pause_scan(p_scan integer, p_kind text, p_pause boolean)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    if p_kind is not null then
        update scans
           set paused_kinds = case when p_pause then array_append(paused_kinds, p_kind::job_kind)
                                   else array_remove(paused_kinds, p_kind::job_kind) end
         where scan = p_scan and state in ('running', 'paused')
           and (p_kind::job_kind = any (paused_kinds)) <> p_pause;
    else
        update scans set state = case when p_pause then 'paused' else 'running' end::scan_state
         where scan = p_scan
           and state = case when p_pause then 'running' else 'paused' end::scan_state;
    end if;
    return found;
end $$;
