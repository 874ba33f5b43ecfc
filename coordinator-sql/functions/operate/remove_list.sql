-- Keeps patterns that another list contains.
create or replace function coordinator.remove_list(p_list text)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    lock table blocklist in share row exclusive mode;
    perform coordinator.drop_from_list(p_list, '{}', '{}');
    delete from imported_lists where list = p_list;
    return found;
end $$;
