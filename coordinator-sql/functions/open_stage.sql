-- Sets a stage's outstanding count to p_parts and enqueues its jobs 0 to p_parts - 1, both in this
-- transaction, so that no count passes zero early. A stage of no parts is over at once.
create or replace function coordinator.open_stage(
    p_scan integer, p_kind everytab.job_kind, p_parts integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    update stages set outstanding = p_parts, done = 0, discarded = 0, finished_at = null
     where scan = p_scan and kind = p_kind;
    insert into jobs (scan, kind, part)
    select p_scan, p_kind, part from generate_series(0, p_parts - 1) part
    on conflict (scan, kind, part) do update
       set state = 'pending', not_before = null, attempts = 0, crashes = 0
     where jobs.state <> 'leased';
    if p_parts = 0 then
        perform coordinator.advance(p_scan, p_kind);
    end if;
end $$;
