-- p_digests contains the digests on which the run's output depends.
create or replace function coordinator.start_run(
    p_kind everytab.run_kind, p_lease_ms integer, p_digests jsonb,
    p_job_kinds everytab.job_kind[])
returns integer language plpgsql set search_path = everytab, pg_temp as $$
declare
    new_run integer;
begin
    insert into runs (kind, lease_ms, digests) values (p_kind, p_lease_ms, p_digests)
    returning run into new_run;
    insert into stages (run, kind) select new_run, unnest(p_job_kinds);
    return new_run;
end $$;
