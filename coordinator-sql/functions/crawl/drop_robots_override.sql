create or replace function coordinator.drop_robots_override(p_owner text, p_id uuid)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    delete from robots_overrides o where o.owner = p_owner and o.id = p_id;
    return found;
end $$;
