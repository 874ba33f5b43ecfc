-- Replaces the patterns of an imported list by these, and notes where it came from and when. A
-- pattern that an operator added, or another list has, stays as it is. The arrays are of the
-- same length, and name no pattern twice. Returns how many patterns the list has now.
create or replace function coordinator.import_list(
    p_list text, p_source text, p_kinds text[], p_patterns text[])
returns bigint language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    added bigint;
begin
    insert into imported_lists (list, source, imported_at, patterns)
    values (p_list, p_source, now(), 0)
    on conflict (list) do update
       set source = excluded.source, imported_at = excluded.imported_at, patterns = 0;
    delete from blocklist where list = p_list;
    insert into blocklist (kind, pattern, reason, list)
    select given.kind, given.pattern, 'on the list ' || p_list, p_list
      from unnest(p_kinds, p_patterns) as given (kind, pattern)
     order by 1, 2
    on conflict (kind, pattern) do nothing;
    get diagnostics added = row_count;
    update imported_lists set patterns = added where list = p_list;
    return added;
end $$;
