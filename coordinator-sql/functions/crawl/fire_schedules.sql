-- Skips schedules that another transaction has locked. A schedule that is several periods
-- overdue fires once. A start that fails does not delay other schedules.
create or replace function coordinator.fire_schedules()
returns integer language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Every worker waits for open_crawls, so a call must stay short.
    max_fired constant integer := 4;
    -- The maximum length of the column last_error.
    max_characters constant integer := 200;
    due schedules;
    why text;
    fired integer := 0;
    handled integer := 0;
begin
    for due in
        select * from schedules s where s.next_at <= clock_timestamp()
         order by s.next_at for no key update skip locked
    loop
        exit when handled = max_fired;
        -- Waiting could deadlock, because a transaction that has locked the key's usage may
        -- wait for a crawl that this one has locked.
        if starts_with(due.owner, 'key:') then
            perform from api_usage u where 'key:' || u.key = due.owner
                for no key update skip locked;
            continue when not found;
        end if;
        handled := handled + 1;
        update schedules s
           set next_at = coordinator.next_time(
                   due.next_at, due.every_s, due.at_s, due.weekdays, clock_timestamp())
         where s.id = due.id;
        why := coalesce(coordinator.hold_of_owner(due.owner),
                        (select 'not_ended' from crawls c
                          where c.crawl = due.last_crawl and c.state <> 'ended'));
        if why is not null then
            update schedules s set skipped = s.skipped + 1 where s.id = due.id;
        else
            begin
                perform coordinator.start_scheduled(due);
                fired := fired + 1;
            exception when others then
                update schedules s
                   set skipped = s.skipped + 1, last_error = left(sqlerrm, max_characters)
                 where s.id = due.id;
                -- The owner sees refusals. Other errors are only for the operator.
                why := case when sqlstate = 'ET010' then sqlerrm else 'internal' end;
            end;
        end if;
        if why is not null then
            perform coordinator.tell_webhooks(due.owner, 'schedule.skipped', json_build_object(
                'schedule', due.id, 'name', due.name, 'reason', why,
                'next_at', (select coordinator.utc_text(s.next_at) from schedules s
                             where s.id = due.id)));
        end if;
    end loop;
    return fired;
end $$;
