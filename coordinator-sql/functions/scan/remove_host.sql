-- If a job is retried later, it sends this host no requests, even if another host's page names
-- it. The lock prevents other sessions from reopening the scan's jobs during this call.
create or replace function coordinator.remove_host(
    p_scan integer, p_hostname text,
    out captures bigint, out tabs bigint, out fetched bigint)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform 1 from runs r where r.run = p_scan and r.state not in ('running', 'paused')
       for update;
    if not found then
        return;
    end if;
    insert into scan_blocklist (scan, kind, pattern) values (p_scan, 'hostname', p_hostname)
        on conflict do nothing;
    delete from icons i
     where i.scan = p_scan
       and (coordinator.host_of_url(i.url) = p_hostname
            or (i.shard, i.host_no) in (select p.shard, p.host_no from pages p
                                         where p.scan = p_scan and p.hostname = p_hostname));
    get diagnostics fetched = row_count;
    delete from pages p where p.scan = p_scan and p.hostname = p_hostname;
    get diagnostics tabs = row_count;
    delete from hosts h where h.scan = p_scan and h.hostname = p_hostname;
    get diagnostics captures = row_count;
end $$;
