-- Makes a job ready: a new row, or a row that waited for what feeds it. A leased job is left alone.
create or replace function coordinator.enqueue(
    p_scan integer, p_kind everytab.job_kind, p_part integer)
returns void language sql set search_path = everytab, pg_temp as $$
    insert into jobs (scan, kind, part) values (p_scan, p_kind, p_part)
    on conflict (scan, kind, part) do update
       set state = 'pending', not_before = null, attempts = 0, crashes = 0
     where jobs.state <> 'leased';
$$;
