create or replace function coordinator.load_slot_sums(p_slots smallint[])
returns table (slot smallint, crawl integer, pending bigint, reserved bigint)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select s.slot, s.crawl, s.pending, s.reserved
      from crawl_slots s join crawls c on c.crawl = s.crawl and c.state <> 'ended'
     where s.slot = any (p_slots);
$$;
