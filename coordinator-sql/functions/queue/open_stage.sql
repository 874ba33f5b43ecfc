-- The outstanding count and the jobs are written in one transaction, so that the count cannot
-- reach zero early. A stage without jobs ends immediately.
create or replace function coordinator.open_stage(
    p_run integer, p_kind everytab.job_kind, p_parts integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    update stages set outstanding = p_parts, done = 0, discarded = 0, finished_at = null
     where run = p_run and kind = p_kind;
    perform coordinator.enqueue(
        p_run, p_kind, array(select generate_series(0, p_parts - 1)));
    if p_parts = 0 then
        perform coordinator.advance(p_run, p_kind);
    end if;
end $$;
