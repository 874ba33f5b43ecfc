-- The hosts of slots that have something due in crawls that run, soonest first, each once a crawl,
-- with how many URLs the newest chunk of it says are known and pending. Of a crawl that has no page
-- left, and keeps no media, only those of slots that have reserved some: the others stay due, would
-- come first each time, and hide these from a worker that has no room for all.
create or replace function coordinator.load_due_hosts(
    p_slots smallint[], p_until timestamptz, p_limit integer)
returns table (slot smallint, crawl integer, site_hash bigint, host_hash bigint,
               next_due timestamptz, known integer, pending integer)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    -- Hosts of a slot that are looked at, however small its share of the limit is.
    least_a_slot constant integer := 1000;
    -- Slots differ: each may have so many times its share of the limit.
    shares constant integer := 4;
    a_slot constant integer :=
        least(p_limit, greatest(least_a_slot,
                                shares * p_limit / greatest(cardinality(p_slots), 1)));
begin
    return query
    with due as materialized (
        select f.* from unnest(p_slots) s (slot)
         cross join lateral (
               select d.slot, d.crawl, d.host_hash, d.next_due
                 from frontier_due d
                 join crawls r on r.crawl = d.crawl and r.state = 'running'
                              and (r.budget_left is null or r.budget_left > 0
                                   or r.settings ->> 'media' <> 'none'
                                   or exists (select from crawl_slots k
                                               where k.crawl = d.crawl and k.slot = d.slot
                                                 and k.reserved > 0))
                where d.slot = s.slot and d.next_due <= p_until
                order by d.next_due limit a_slot) f
         order by f.next_due limit p_limit)
    select d.slot, d.crawl, h.site_hash, d.host_hash, d.next_due, n.known, n.pending
      from due d
      join frontier_hosts h on h.slot = d.slot and h.host_hash = d.host_hash
      join lateral (select c.known, c.pending from frontier_chunks c
                     where c.slot = d.slot and c.crawl = d.crawl and c.host_hash = d.host_hash
                     order by c.seq desc limit 1) n on true
     order by d.next_due;
end $$;
