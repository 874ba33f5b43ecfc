-- Returns how many pages per second politeness currently allows a crawl: the sum of 1 / (delay
-- + response time) over the hosts to which it may send requests now. The other hosts are
-- resting. slowest_host needs the longest time for its pending URLs, at least seconds_left.
-- Robots overrides are ignored. is_least means that only some hosts in each slot were counted,
-- so politeness allows more, and another host may take longer.
create or replace function coordinator.crawl_pace(
    p_crawl integer, out hosts integer, out resting_hosts integer,
    out pages_per_second double precision, out is_least boolean, out rate double precision,
    out paused_origins jsonb, out seconds_left double precision, out slowest_host text)
language plpgsql stable set search_path = everytab, pg_temp as $$
declare
    -- Limit hosts_a_slot = 40: reading 10,240 hosts takes some tens of milliseconds, and they
    -- allow more pages per second than a worker fetches.
    hosts_a_slot constant integer := 40;
    -- Delays are stored in milliseconds.
    a_second constant integer := 1000;
    crawl_row crawls;
    limits record;
    now_at timestamptz := clock_timestamp();
begin
    select * into crawl_row from crawls c where c.crawl = p_crawl and c.state <> 'ended';
    if not found then
        return;
    end if;
    limits := coordinator.limits_of_owner(crawl_row.owner);
    rate := least(crawl_row.rate, limits.rate);
    with due as materialized (
        select s.slot, d.host_hash, d.next_due
          from slots s
         cross join lateral (
               select f.host_hash, f.next_due from frontier_due f
                where f.slot = s.slot and f.crawl = p_crawl
                order by f.host_hash limit hosts_a_slot) d),
    timed as (
        select d.next_due, h.free_at, h.response_ms, h.origins, h.hostname, n.pending,
               greatest(coalesce((crawl_row.settings ->> 'delay_ms')::double precision, 0),
                        least((crawl_row.settings ->> 'max_delay_ms')::double precision,
                              (crawl_row.settings ->> 'delay_factor')::double precision
                              * h.response_ms),
                        h.delay_ms, h.crawl_delay_ms, crawl_row.min_delay_ms,
                        limits.min_delay_ms) as delay_ms
          from due d join frontier_hosts h on h.slot = d.slot and h.host_hash = d.host_hash
          left join lateral (select c.pending from frontier_chunks c
                              where c.slot = d.slot and c.crawl = p_crawl
                                and c.host_hash = d.host_hash
                              order by c.seq desc limit 1) n on true),
    slowest as (
        select t.hostname,
               greatest(extract(epoch from greatest(t.next_due, t.free_at) - now_at), 0)
               + t.pending * (t.delay_ms + t.response_ms) / a_second as seconds
          from timed t where t.pending > 0 order by seconds desc, t.hostname limit 1),
    free as (
        select t.*, t.next_due <= now_at and t.free_at
                        <= now_at + make_interval(secs => t.delay_ms / a_second) as is_free
          from timed t)
    select count(*) filter (where f.is_free), count(*) filter (where not f.is_free),
           -- A host may have no delay and no response time yet.
           coalesce(sum(a_second / greatest(f.delay_ms + f.response_ms, 1))
               filter (where f.is_free), 0),
           exists (select from due d group by d.slot having count(*) = hosts_a_slot),
           (select coalesce(jsonb_object_agg(p.outcome, p.amount), '{}')
              from (select o ->> 'outcome' as outcome, count(*) as amount
                      from timed t cross join lateral jsonb_array_elements(t.origins) o
                     where (o ->> 'until')::timestamptz > now_at group by 1) p),
           (select s.seconds from slowest s), (select s.hostname from slowest s)
      into hosts, resting_hosts, pages_per_second, is_least, paused_origins, seconds_left,
           slowest_host
      from free f;
end $$;
