-- A pattern that an operator or another list added before does not change, but also_listed
-- records that this list contains it, too. The arrays are sorted, and contain no duplicate
-- pattern. Returns how many blocklist patterns now belong to this list.
--
-- Lists may have a million patterns, so only differences from the previous version are written.
-- The lock replaces "on conflict", which takes a third longer. With nested loops, Postgres
-- would look up each pattern, because it estimates an array at ten rows.
create or replace function coordinator.import_list(
    p_list text, p_source text, p_kinds text[], p_patterns text[])
returns bigint language plpgsql security definer set search_path = everytab, pg_temp
set enable_nestloop = off set work_mem = '64MB' as $$
declare
    kept bigint;
    added bigint;
begin
    lock table blocklist in share row exclusive mode;
    insert into imported_lists (list, source, imported_at, patterns)
    values (p_list, p_source, now(), 0)
    on conflict (list) do update
       set source = excluded.source, imported_at = excluded.imported_at, patterns = 0;
    perform coordinator.drop_from_list(p_list, p_kinds, p_patterns);
    select count(*) into kept from blocklist where list = p_list;
    insert into blocklist (kind, pattern, list)
    select given.kind, given.pattern, p_list
      from unnest(p_kinds, p_patterns) as given (kind, pattern)
     where not exists (select from blocklist b
                        where b.kind = given.kind and b.pattern = given.pattern);
    get diagnostics added = row_count;
    if kept + added < cardinality(p_patterns) then
        insert into also_listed (list, kind, pattern)
        select p_list, given.kind, given.pattern
          from unnest(p_kinds, p_patterns) as given (kind, pattern)
          join blocklist b on b.kind = given.kind and b.pattern = given.pattern
         where b.list is distinct from p_list
           and not exists (select from also_listed a
                            where a.list = p_list and a.kind = given.kind
                              and a.pattern = given.pattern);
    end if;
    update imported_lists set patterns = kept + added where list = p_list;
    return kept + added;
end $$;
