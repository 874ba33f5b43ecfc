-- This is plpgsql, because its statement is then planned once per session, and each completed
-- warc or icon job calls it.
create or replace function coordinator.enqueue(
    p_run integer, p_kind everytab.job_kind, p_parts integer[])
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    insert into jobs (run, kind, part) select p_run, p_kind, unnest(p_parts)
    on conflict (run, kind, part) do update
       set state = 'pending', not_before = null, attempts = 0, crashes = 0
     where jobs.state <> 'leased';
end $$;
