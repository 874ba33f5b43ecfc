-- Deletes a scan that has ended: its partitions, its rows and its run. False: the scan is running,
-- or there is none. The lock keeps other sessions from reopening its jobs meanwhile.
create or replace function coordinator.drop_scan(p_scan integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    data_table text;
begin
    lock table jobs in exclusive mode;
    perform 1 from scans s join runs r on r.run = s.scan
      where s.scan = p_scan and r.state not in ('running', 'paused') for update of r;
    if not found then
        return false;
    end if;
    foreach data_table in array array['hosts', 'pages', 'icons'] loop
        execute format('drop table everytab.%I', data_table || '_' || p_scan);
    end loop;
    delete from bundles where scan = p_scan;
    delete from index_files where scan = p_scan;
    delete from scan_blocklist where scan = p_scan;
    delete from scan_exclusions where scan = p_scan;
    delete from scans where scan = p_scan;
    perform coordinator.drop_run(p_scan);
    return true;
end $$;
