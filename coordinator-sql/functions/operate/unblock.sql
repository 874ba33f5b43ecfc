create or replace function coordinator.unblock(p_kind text, p_pattern text)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    delete from blocklist where kind = p_kind and pattern = p_pattern;
    return found;
end $$;
