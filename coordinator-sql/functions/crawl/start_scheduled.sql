-- The caller has locked the schedule's row. If the schedule repeats a crawl, the new crawl
-- repeats the schedule's last crawl, if there is one.
create or replace function coordinator.start_scheduled(p_schedule everytab.schedules)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    id uuid := gen_random_uuid();
    began timestamptz := clock_timestamp();
    name text := format('LIVE-%s-%s', to_char(began at time zone 'UTC', 'YYYYMMDDHH24MISS'),
                        left(id::text, 8));
    settings jsonb := p_schedule.settings;
    crawl integer;
    last_id uuid := (select c.id from crawls c where c.crawl = p_schedule.last_crawl);
    key_row api_keys;
begin
    if settings->>'again' is not null and last_id is not null then
        settings := settings || jsonb_build_object('again', last_id);
    end if;
    select * into key_row from api_keys k where 'key:' || k.key = p_schedule.owner;
    if found then
        if (coordinator.key_use(key_row.key)).open_crawls >= key_row.max_crawls then
            perform api.refuse('quota_crawls', null);
        end if;
        perform api.use_urls(key_row, (select sum(l.amount) from schedule_links l
                                        where l.schedule = p_schedule.id));
    end if;
    crawl := coordinator.start_crawl((
        id, name, p_schedule.owner, p_schedule.store, settings, (settings ->> 'limit')::bigint,
        began + make_interval(secs => (settings ->> 'duration_s')::double precision),
        (settings ->> 'max_store_bytes')::bigint)::new_crawl);
    perform coordinator.add_links(crawl, true, array(
        select (crawl, l.slot_group, l.slot_mask, false, l.amount, l.data)::link_row
          from schedule_links l where l.schedule = p_schedule.id));
    update schedules s
       set fired = s.fired + 1, last_crawl = crawl, last_error = null
     where s.id = p_schedule.id;
end $$;
