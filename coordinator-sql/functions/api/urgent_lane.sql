-- If several URLs were submitted together, none is urgent, so that a list never overtakes a URL
-- for which a client is waiting.
create or replace function api.urgent_lane(p_links everytab.link_row[], p_urls bigint)
returns everytab.link_row[] language sql immutable set search_path = everytab, pg_temp as $$
    select case when p_urls = 1 then p_links
                else array(select (l.crawl, l.slot_group, l.slot_mask, false, l.amount,
                                   l.data)::link_row
                             from unnest(p_links) with ordinality
                                      as l (crawl, slot_group, slot_mask, is_urgent, amount, data,
                                            number)
                            order by l.number) end;
$$;
