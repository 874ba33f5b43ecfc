-- Returns the given patterns and the current blocklist, except what the scan's own copy of the
-- blocklist contains.
create or replace function coordinator.load_later_blocks(
    p_scan integer, p_kinds text[], p_patterns text[])
returns table (kind text, pattern text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select listed.kind, listed.pattern
      from (select b.kind, b.pattern from blocklist b
             union
            select g.kind, g.pattern from unnest(p_kinds, p_patterns) as g (kind, pattern)) listed
     where not exists (select from scan_blocklist s
                        where s.scan = p_scan and s.kind = listed.kind
                          and s.pattern = listed.pattern)
     order by 1, 2;
$$;
