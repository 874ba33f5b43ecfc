-- Readers use only rows that this lease wrote.
create or replace function coordinator.completed_lease(
    p_run integer, p_kind everytab.job_kind, p_part integer)
returns integer language sql stable set search_path = everytab, pg_temp as $$
    select j.lease_number from jobs j
     where j.run = p_run and j.kind = p_kind and j.part = p_part and j.state = 'completed';
$$;
