-- The caller has checked that the run has ended, and has deleted all references to it.
create or replace function coordinator.drop_run(p_run integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    delete from job_events where run = p_run;
    delete from job_results where run = p_run;
    delete from jobs where run = p_run;
    delete from stages where run = p_run;
    delete from runs where run = p_run;
end $$;
