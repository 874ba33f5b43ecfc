create or replace function coordinator.list_schedules(p_owner text, p_id uuid)
returns table (id uuid, name text, every_s integer, at_s integer, weekdays smallint, store text,
               settings jsonb, seeds bigint, created_at timestamptz, next_at timestamptz,
               fired bigint, skipped bigint, last_crawl uuid, last_error text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select s.id, s.name, s.every_s, s.at_s, s.weekdays, s.store, s.settings,
           (select coalesce(sum(l.amount), 0) from schedule_links l where l.schedule = s.id),
           s.created_at, s.next_at, s.fired, s.skipped,
           (select c.id from crawls c where c.crawl = s.last_crawl), s.last_error
      from schedules s
     where s.owner = p_owner and (p_id is null or s.id = p_id)
     order by s.next_at, s.id;
$$;
