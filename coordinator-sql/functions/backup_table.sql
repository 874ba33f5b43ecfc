-- The table that holds a scan's rows of one kind: what backup and restore may read and write.
create or replace function coordinator.backup_table(p_scan integer, p_table text)
returns regclass language plpgsql stable set search_path = everytab, pg_temp as $$
begin
    if p_table in ('hosts', 'pages', 'icons') then
        return format('everytab.%I', p_table || '_' || p_scan)::regclass;
    elsif p_table in ('index_files', 'warc_files', 'scan_blocklist', 'stages', 'bundles', 'jobs',
                      'job_results', 'job_events') then
        return format('everytab.%I', p_table)::regclass;
    end if;
    raise exception 'table % is no part of a scan', p_table using errcode = 'ET003';
end $$;
