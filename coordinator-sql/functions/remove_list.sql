-- Removes an imported list with its patterns. False: there is no such list.
create or replace function coordinator.remove_list(p_list text)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    delete from blocklist where list = p_list;
    delete from imported_lists where list = p_list;
    return found;
end $$;
