-- p_kind pauses or resumes one stage. Returns false if nothing changed.
create or replace function coordinator.pause_run(p_run integer, p_kind text, p_pause boolean)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    if p_kind is not null then
        update runs
           set paused_kinds = case when p_pause then array_append(paused_kinds, p_kind::job_kind)
                                   else array_remove(paused_kinds, p_kind::job_kind) end
         where run = p_run and state in ('running', 'paused')
           and (p_kind::job_kind = any (paused_kinds)) <> p_pause;
    else
        update runs set state = case when p_pause then 'paused' else 'running' end::run_state
         where run = p_run
           and state = case when p_pause then 'running' else 'paused' end::run_state;
    end if;
    return found;
end $$;
