-- Makes jobs ready: new rows, or rows that waited for what feeds them. A leased job is left alone.
create or replace function coordinator.enqueue(
    p_scan integer, p_kind everytab.job_kind, p_parts integer[])
returns void language sql set search_path = everytab, pg_temp as $$
    insert into jobs (scan, kind, part) select p_scan, p_kind, unnest(p_parts)
    on conflict (scan, kind, part) do update
       set state = 'pending', not_before = null, attempts = 0, crashes = 0
     where jobs.state <> 'leased';
$$;
