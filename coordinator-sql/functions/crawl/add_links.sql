-- The last call sets p_is_last, even without links, and from then on the crawl may end. A
-- repeated call adds its links again, and the slots recognize them as known.
create or replace function coordinator.add_links(
    p_crawl integer, p_is_last boolean, p_links everytab.link_row[])
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    crawl_row crawls;
    hour integer := coordinator.links_hour();
begin
    perform coordinator.check_links(p_links);
    select * into crawl_row from crawls where crawl = p_crawl for no key update;
    if not found or crawl_row.state = 'ended' then
        return false;
    end if;
    insert into links (hour, crawl, slot_group, slot_mask, is_urgent, amount, data)
    select hour, p_crawl, l.slot_group, l.slot_mask, l.is_urgent, l.amount, l.data
      from unnest(p_links) l;
    update crawls c
       set seeding = c.seeding and not p_is_last,
           seeds = c.seeds + (select coalesce(sum(l.amount), 0) from unnest(p_links) l)
     where c.crawl = p_crawl;
    if p_is_last then
        perform coordinator.end_if_done(p_crawl);
    end if;
    return true;
end $$;
