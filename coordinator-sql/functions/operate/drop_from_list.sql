-- If another list also contains a removed pattern, the pattern then belongs to that list and
-- remains. The caller holds import_list's lock.
create or replace function coordinator.drop_from_list(
    p_list text, p_kinds text[], p_patterns text[])
returns void language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    delete from also_listed a
     where a.list = p_list
       and not exists (select from unnest(p_kinds, p_patterns) as given (kind, pattern)
                        where given.kind = a.kind and given.pattern = a.pattern);
    if not exists (select from blocklist where list = p_list) then
        return;
    end if;
    if exists (select from also_listed where list <> p_list) then
        update blocklist b set list = other.list
          from (select a.kind, a.pattern, min(a.list) as list from also_listed a
                 where a.list <> p_list group by a.kind, a.pattern) other
         where b.list = p_list and b.kind = other.kind and b.pattern = other.pattern
           and not exists (select from unnest(p_kinds, p_patterns) as given (kind, pattern)
                            where given.kind = b.kind and given.pattern = b.pattern);
        if found then
            delete from also_listed a using blocklist b
             where b.list = a.list and b.kind = a.kind and b.pattern = a.pattern;
            update imported_lists l
               set patterns = (select count(*) from blocklist b where b.list = l.list);
        end if;
    end if;
    delete from blocklist b
     where b.list = p_list
       and not exists (select from unnest(p_kinds, p_patterns) as given (kind, pattern)
                        where given.kind = b.kind and given.pattern = b.pattern);
end $$;
