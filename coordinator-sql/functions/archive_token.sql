-- The lease's token in the name of the archive that an icon job's lease wrote; null where a program
-- wrote it whose names had no token.
create or replace function coordinator.archive_token(p_result everytab.job_results)
returns uuid language sql stable as $$
    select case when p_result.archive_has_token then p_result.token end;
$$;
