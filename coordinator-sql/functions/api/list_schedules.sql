create or replace function api.list_schedules(p_key text, p_secret bytea, p_id uuid)
returns table (id uuid, name text, every_s integer, at_s integer, weekdays smallint, store text,
               settings jsonb, seeds bigint, created_at timestamptz, next_at timestamptz,
               fired bigint, skipped bigint, last_crawl uuid, last_error text)
language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    perform api.check_reader(p_key, p_secret, 1);
    return query select * from coordinator.list_schedules('key:' || p_key, p_id);
    if p_id is not null and not found then
        perform api.refuse('not_found', null);
    end if;
end $$;
