-- Inserts a run with the stages for its job kinds, and returns its number. p_digests names the
-- digests on which the output depends: lease gives a worker with another digest no jobs with
-- kinds that need it.
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
