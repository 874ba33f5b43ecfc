-- Separate statements close the stage and enqueue the next jobs, because a new statement sees
-- the changes that other transactions committed while this one waited for the counter's row.
create or replace function coordinator.decrement_outstanding(
    p_run integer, p_kind everytab.job_kind, p_ended_as everytab.job_state, p_amount integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    remaining integer;
begin
    update stages
       set outstanding = outstanding - p_amount,
           done = done + case p_ended_as when 'completed' then p_amount else 0 end,
           discarded = discarded + case p_ended_as when 'discarded' then p_amount else 0 end
     where run = p_run and kind = p_kind
    returning outstanding into strict remaining;
    if remaining = 0 then
        update stages set finished_at = clock_timestamp() where run = p_run and kind = p_kind;
        perform coordinator.advance(p_run, p_kind);
    end if;
end $$;
