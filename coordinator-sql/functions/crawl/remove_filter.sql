create or replace function coordinator.remove_filter(p_owner text, p_name text)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    delete from filters f where f.owner = p_owner and f.name = p_name;
    return found;
end $$;
