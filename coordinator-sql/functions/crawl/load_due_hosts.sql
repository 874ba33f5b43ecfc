-- If a crawl has no pages left and keeps no media, only slots with reserved pages are included,
-- because other hosts would remain due and be first each time. Each crawl is read separately,
-- because a paused crawl may have a million hosts that have been due for longer.
create or replace function coordinator.load_due_hosts(
    p_slots smallint[], p_until timestamptz, p_limit integer)
returns table (slot smallint, crawl integer, site_hash bigint, host_hash bigint,
               next_due timestamptz, known integer, pending integer)
language plpgsql stable security definer set search_path = everytab, pg_temp
-- Postgres compiled this query, which took 150 ms per call.
set jit = off as $$
#variable_conflict use_column
declare
    -- Minimum number of hosts to read per slot.
    least_a_slot constant integer := 1000;
    -- Slots differ in their due hosts, so each may have this many times its share of the limit.
    shares constant integer := 4;
    -- Minimum number of hosts to read per crawl and slot.
    least_a_crawl constant integer := 10;
    a_slot constant integer :=
        least(p_limit, greatest(least_a_slot,
                                shares * p_limit / greatest(cardinality(p_slots), 1)));
begin
    return query
    with asked as materialized (
        select k.slot, k.crawl,
               greatest(a_slot / count(*) over (partition by k.slot), least_a_crawl) as hosts
          from crawls r
          join crawl_slots k on k.crawl = r.crawl and k.slot = any (p_slots)
         where r.state = 'running'
           and (r.budget_left is null or r.budget_left > 0 or r.settings ->> 'media' <> 'none'
                or k.reserved > 0)
           and exists (select from frontier_due d
                        where d.slot = k.slot and d.crawl = k.crawl and d.next_due <= p_until)),
    due as materialized (
        select f.* from asked a
         cross join lateral (
               select d.slot, d.crawl, d.host_hash, d.next_due from frontier_due d
                where d.slot = a.slot and d.crawl = a.crawl and d.next_due <= p_until
                order by d.next_due limit a.hosts) f
         order by f.next_due limit p_limit)
    select d.slot, d.crawl, h.site_hash, d.host_hash, d.next_due, n.known, n.pending
      from due d
      join frontier_hosts h on h.slot = d.slot and h.host_hash = d.host_hash
      join lateral (select c.known, c.pending from frontier_chunks c
                     where c.slot = d.slot and c.crawl = d.crawl and c.host_hash = d.host_hash
                     order by c.seq desc limit 1) n on true
     order by d.next_due;
end $$;
