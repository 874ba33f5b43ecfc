create or replace function api.add_schedule(
    p_key text, p_secret bytea, p_request_name text, p_request bytea, p_id uuid, p_name text,
    p_every_s integer, p_first_at timestamptz, p_at_s integer, p_weekdays smallint, p_store text,
    p_settings jsonb, p_links everytab.link_row[],
    out id uuid, out next_at timestamptz, out is_repeated boolean)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    urls bigint := (select coalesce(sum(l.amount), 0) from unnest(p_links) l);
    known jsonb;
    added record;
begin
    perform api.check_key(p_key, p_secret, api.cost_of(urls));
    if p_request_name is not null then
        known := api.find_answer(p_key, p_request_name, p_request);
    end if;
    is_repeated := known is not null;
    if is_repeated then
        id := known ->> 'id';
        next_at := known ->> 'next_at';
        return;
    end if;
    perform api.check_again(p_key, p_settings);
    select * into added from coordinator.add_schedule(
        'key:' || p_key, p_id, p_name, p_every_s, p_first_at, p_at_s, p_weekdays, p_store,
        p_settings, p_links);
    if added.word = 'name_taken' then
        perform api.refuse('name_taken', null);
    elsif added.word <> 'added' then
        perform api.refuse('not_allowed', jsonb_build_object('limit', (
            select count(*) from schedules s where s.owner = 'key:' || p_key)));
    end if;
    id := p_id;
    next_at := added.next_at;
    perform api.keep_answer(p_key, p_request_name, p_request,
                            jsonb_build_object('id', p_id, 'next_at', added.next_at));
end $$;
