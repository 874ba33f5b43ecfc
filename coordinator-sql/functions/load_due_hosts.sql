-- The hosts of slots that have something due, soonest first, each once a crawl, as the newest
-- chunk of it says.
create or replace function coordinator.load_due_hosts(
    p_slots smallint[], p_until timestamptz, p_limit integer)
returns table (slot smallint, crawl integer, site_hash bigint, host_hash bigint,
               next_due timestamptz)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
begin
    return query
    with due as materialized (
        select distinct c.slot, c.crawl, c.host_hash
          from (select c.slot, c.crawl, c.host_hash from frontier_chunks c
                 where c.slot = any (p_slots) and c.next_due <= p_until
                 order by c.next_due limit p_limit) c
          join crawls r on r.crawl = c.crawl and r.state <> 'ended')
    select d.slot, d.crawl, h.site_hash, d.host_hash, n.next_due
      from due d
      join frontier_hosts h on h.slot = d.slot and h.host_hash = d.host_hash
      join lateral (select c.next_due from frontier_chunks c
                     where c.slot = d.slot and c.crawl = d.crawl and c.host_hash = d.host_hash
                     order by c.seq desc limit 1) n on n.next_due is not null
     order by n.next_due;
end $$;
