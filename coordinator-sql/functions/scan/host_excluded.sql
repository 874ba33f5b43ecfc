create or replace function coordinator.host_excluded(p_scan integer, p_hostname text)
returns boolean language sql stable set search_path = everytab, pg_temp as $$
    select exists (select from scan_exclusions e
                    where e.scan = p_scan and e.kind = 'hostname' and e.pattern = p_hostname)
        or exists (select from scan_exclusions e
                    where e.scan = p_scan and e.kind = 'suffix'
                      and (p_hostname = e.pattern or right(p_hostname, length(e.pattern) + 1)
                                                     = '.' || e.pattern));
$$;
