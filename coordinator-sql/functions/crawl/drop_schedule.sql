-- Crawls that the schedule started continue.
create or replace function coordinator.drop_schedule(p_owner text, p_id uuid)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    delete from schedules s where s.owner = p_owner and s.id = p_id;
    return found;
end $$;
