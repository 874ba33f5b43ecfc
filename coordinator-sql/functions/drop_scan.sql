-- Forgets a scan that has ended: its partitions and rows. False: it runs, or is not there.
create or replace function coordinator.drop_scan(p_scan integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    data_table text;
begin
    lock table jobs in exclusive mode;
    perform 1 from scans where scan = p_scan and state not in ('running', 'paused') for update;
    if not found then
        return false;
    end if;
    foreach data_table in array array['hosts', 'pages', 'icons'] loop
        execute format('drop table everytab.%I', data_table || '_' || p_scan);
    end loop;
    delete from job_events where scan = p_scan;
    delete from job_results where scan = p_scan;
    delete from bundles where scan = p_scan;
    delete from jobs where scan = p_scan;
    delete from index_files where scan = p_scan;
    delete from scan_blocklist where scan = p_scan;
    delete from stages where scan = p_scan;
    delete from scans where scan = p_scan;
    return true;
end $$;
