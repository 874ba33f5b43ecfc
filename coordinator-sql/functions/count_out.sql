-- Takes jobs out of their stage's outstanding count, as done or discarded. Where they were the
-- last ones the stage is closed and what follows it is enqueued, by statements of their own, which
-- see everything that was committed while this one waited for the counter's row.
create or replace function coordinator.count_out(
    p_scan integer, p_kind everytab.job_kind, p_as text, p_amount integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    remaining integer;
begin
    update stages
       set outstanding = outstanding - p_amount,
           done = done + case p_as when 'done' then p_amount else 0 end,
           discarded = discarded + case p_as when 'discarded' then p_amount else 0 end
     where scan = p_scan and kind = p_kind
    returning outstanding into strict remaining;
    if remaining = 0 then
        update stages set finished_at = clock_timestamp() where scan = p_scan and kind = p_kind;
        perform coordinator.advance(p_scan, p_kind);
    end if;
end $$;
