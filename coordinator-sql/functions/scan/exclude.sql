-- Excluded hosts and domains get no tabs, and workers send no further requests to them once
-- they receive the exclusion. The lock on the run's row ensures that versions are in commit
-- order.
create or replace function coordinator.exclude(p_scan integer, p_kinds text[], p_patterns text[])
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    last_version integer;
    added integer;
begin
    -- A list import may hold this lock for long. Take it before the run's row, because
    -- completions must not wait that long for this row.
    lock table blocklist in row exclusive mode;
    perform 1 from runs r where r.run = p_scan and r.state in ('running', 'paused')
       for no key update;
    if not found then
        return null;
    end if;
    select coalesce(max(e.version), 0) into last_version
      from scan_exclusions e where e.scan = p_scan;
    insert into scan_exclusions (scan, version, kind, pattern)
    select p_scan, last_version + row_number() over (order by n.kind, n.pattern), n.kind, n.pattern
      from (select distinct kind, pattern from unnest(p_kinds, p_patterns) as g (kind, pattern)) n
     where not exists (select from scan_exclusions e
                        where e.scan = p_scan and e.kind = n.kind and e.pattern = n.pattern);
    get diagnostics added = row_count;
    -- Limit exclusions = 10000: in a running scan, because every worker stores all of them.
    if last_version + added > 10000 then
        raise exception 'a running scan has too many exclusions (%): pause it, use the blocklist',
            last_version + added
            using errcode = 'ET001';
    end if;
    insert into blocklist (kind, pattern, reason)
    select g.kind, g.pattern, 'excluded from a running scan'
      from unnest(p_kinds, p_patterns) as g (kind, pattern)
     where g.kind in ('hostname', 'suffix')
    on conflict (kind, pattern) do nothing;
    return added;
end $$;
