-- The data tables are locked last, for a short time. Raises ET011 if another session uses them.
-- Returns false if empty_scan did not empty the scan.
create or replace function coordinator.drop_scan(p_scan integer)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    data_tables constant text[] := array['hosts', 'pages', 'icons'];
begin
    perform 1 from scans s join runs r on r.run = s.scan
      where s.scan = p_scan and r.state = 'cancelled'
       and not exists (select from index_files f where f.scan = p_scan)
       and not exists (select from bundles b where b.scan = p_scan)
       for update of r;
    if not found then
        return false;
    end if;
    -- remove_host may have added a row since then.
    delete from scan_blocklist where scan = p_scan;
    delete from scans where scan = p_scan;
    perform coordinator.drop_run(p_scan);
    perform coordinator.drop_partitions(
        data_tables,
        array(select t || '_' || p_scan from unnest(data_tables) with ordinality u (t, n)
               order by u.n));
    return true;
end $$;
