-- Submits URLs for one or several keys. An error code for one URL does not affect the others.
-- is_answered means that nothing is added, because the URL is already settled or has a recent
-- capture.
--
-- Locks are taken in one order, so that calls and checkpoints cannot deadlock: all keys' usage
-- rows, ascending, then all existing crawls' rows, ascending, then the locks for creating
-- partitions. While a transaction holds several crawls' rows, it must lock no row of
-- crawl_slots.
create or replace function api.submit(
    p_store text, p_settings jsonb, p_keys text[], p_secrets bytea[], p_crawls uuid[],
    p_hosts bigint[], p_urls bigint[], p_max_ages integer[], p_groups smallint[],
    p_masks integer[], p_data bytea[], p_urgent_data bytea[])
returns table (number bigint, code text, detail jsonb, crawl integer, crawl_id uuid,
               crawl_name text, is_urgent boolean, is_answered boolean)
language plpgsql security definer set search_path = everytab, pg_temp
-- Planning for each call's arrays would cost more than all its statements.
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    -- The service sends at most 256.
    max_rows constant integer := 1000;
    rows integer := coalesce(cardinality(p_keys), 0);
    verdicts everytab.api_verdict[];
    may_be_urgent boolean[];
    asked record;
begin
    if rows > max_rows or rows <> any (array[
        cardinality(p_secrets), cardinality(p_crawls), cardinality(p_hosts), cardinality(p_urls),
        cardinality(p_max_ages), cardinality(p_groups), cardinality(p_masks),
        cardinality(p_data), cardinality(p_urgent_data)]) then
        raise exception 'expected arrays of equal length, with at most % submissions', max_rows
            using errcode = 'invalid_parameter_value';
    end if;
    perform from api_usage u
      where u.key in (select x.key from unnest(p_keys, p_secrets) x (key, secret)
                       where api.is_key(x.key, x.secret))
      order by u.key for no key update;
    perform from crawls c
      where c.crawl in (
          select u.standing from api_usage u where u.key = any (p_keys)
          union
          select a.crawl from unnest(p_keys, p_crawls) x (key, id)
            join crawls n on n.id = x.id
            join api_crawls a on a.crawl = n.crawl and a.key = x.key)
      order by c.crawl for no key update;
    may_be_urgent := array(select u.data is not null
                             from unnest(p_urgent_data) with ordinality u (data, number)
                            order by u.number);
    for asked in
        select k as key_row, array_agg(x.number order by x.number) as numbers
          from unnest(p_keys, p_secrets) with ordinality x (key, secret, number)
          join api_keys k on k.key = x.key and k.secret_sha256 = x.secret
         where k.revoked_at is null
         group by k.key order by k.key
    loop
        verdicts := verdicts || api.submit_of_key(
            asked.key_row, p_store, p_settings, asked.numbers, p_crawls, p_hosts, p_urls,
            p_max_ages, may_be_urgent);
    end loop;
    if exists (select from unnest(verdicts) v where v.code is null and not v.is_answered) then
        insert into links (hour, crawl, slot_group, slot_mask, is_urgent, amount, data)
        select coordinator.links_hour(), v.crawl, p_groups[v.number], p_masks[v.number],
               v.is_urgent, 1,
               case when v.is_urgent then p_urgent_data[v.number] else p_data[v.number] end
          from unnest(verdicts) v where v.code is null and not v.is_answered;
        update crawls c set seeds = c.seeds + v.links
          from (select v.crawl, count(*) as links from unnest(verdicts) v
                 where v.code is null and not v.is_answered group by v.crawl) v
         where c.crawl = v.crawl;
    end if;
    return query
    select x.number,
           case when v.number is null then 'unauthorized' else v.code end, v.detail, v.crawl, c.id,
           c.name, v.is_urgent, v.is_answered
      from generate_series(1, rows::bigint) x (number)
      left join unnest(verdicts) v on v.number = x.number
      left join crawls c on c.crawl = v.crawl;
end $$;
