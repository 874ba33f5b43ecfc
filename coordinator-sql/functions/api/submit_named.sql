-- The arrays are those of api.submit with one element each.
create or replace function api.submit_named(
    p_name text, p_request bytea,
    p_store text, p_settings jsonb, p_keys text[], p_secrets bytea[], p_crawls uuid[],
    p_hosts bigint[], p_urls bigint[], p_max_ages integer[], p_groups smallint[],
    p_masks integer[], p_data bytea[], p_urgent_data bytea[])
returns table (number bigint, code text, detail jsonb, crawl integer, crawl_id uuid,
               crawl_name text, is_urgent boolean, is_answered boolean)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    known jsonb;
    said record;
begin
    perform api.check_key(p_keys[1], p_secrets[1], 0);
    -- Two requests with one idempotency key run one after another.
    perform from api_usage u where u.key = p_keys[1] for no key update;
    known := api.find_answer(p_keys[1], p_name, p_request);
    if known is not null then
        perform api.check_key(p_keys[1], p_secrets[1], 1);
        return query
        select 1::bigint, null::text, null::jsonb, (known ->> 'crawl')::integer,
               (known ->> 'crawl_id')::uuid, known ->> 'crawl_name', false,
               (known ->> 'is_answered')::boolean;
        return;
    end if;
    select * into said from api.submit(
        p_store, p_settings, p_keys, p_secrets, p_crawls, p_hosts, p_urls, p_max_ages, p_groups,
        p_masks, p_data, p_urgent_data);
    if said.code is null then
        perform api.keep_answer(p_keys[1], p_name, p_request, jsonb_build_object(
            'crawl', said.crawl, 'crawl_id', said.crawl_id, 'crawl_name', said.crawl_name,
            'is_answered', said.is_answered));
    end if;
    return query
    select said.number, said.code, said.detail, said.crawl, said.crawl_id, said.crawl_name,
           said.is_urgent, said.is_answered;
end $$;
