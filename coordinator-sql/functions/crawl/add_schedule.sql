-- The schedule is due every p_every_s seconds from p_first_at on (null: one period from now),
-- or at second p_at_s of the UTC day on some weekdays (a mask whose first bit is Monday).
create or replace function coordinator.add_schedule(
    p_owner text, p_id uuid, p_name text, p_every_s integer, p_first_at timestamptz,
    p_at_s integer, p_weekdays smallint, p_store text, p_settings jsonb,
    p_links everytab.link_row[],
    out word text, out next_at timestamptz)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Schedules per owner. open_crawls fires due schedules, a few per call.
    max_schedules constant integer := 100;
    -- Seeds per schedule. One call inserts them, and each start writes them again as links.
    max_seeds constant integer := 20000;
begin
    if coalesce((select sum(l.amount) from unnest(p_links) l), 0)
           not between 1 and max_seeds then
        raise exception 'a schedule must have 1 to % seeds', max_seeds
            using errcode = 'invalid_parameter_value';
    end if;
    perform coordinator.check_links(p_links);
    perform pg_advisory_xact_lock(hashtextextended('schedules:' || p_owner, 0));
    if (select count(*) from schedules s where s.owner = p_owner) >= max_schedules then
        word := 'too_many';
        return;
    end if;
    next_at := coordinator.next_time(
        coalesce(p_first_at, clock_timestamp() + make_interval(secs => p_every_s)),
        p_every_s, p_at_s, p_weekdays, clock_timestamp());
    insert into schedules (id, owner, name, every_s, at_s, weekdays, store, settings, next_at)
    values (p_id, p_owner, p_name, p_every_s, p_at_s, p_weekdays, p_store, p_settings,
            add_schedule.next_at)
    on conflict (owner, name) do nothing;
    if not found then
        word := 'name_taken';
        next_at := null;
        return;
    end if;
    insert into schedule_links (schedule, slot_group, slot_mask, amount, data)
    select p_id, l.slot_group, l.slot_mask, l.amount, l.data from unnest(p_links) l;
    word := 'added';
end $$;
