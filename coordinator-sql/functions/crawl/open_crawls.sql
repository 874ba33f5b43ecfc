-- Returns the open crawls. Every worker calls this every few seconds. Rates are requests per
-- second, for the crawl and for all of its owner's crawls together, and holders is the number
-- of workers that share such a rate. forgotten_at is when anything was last forgotten, in any
-- crawl. When patterns_version changes, the includes and excludes must be read again.
create or replace function coordinator.open_crawls()
returns table (crawl integer, id uuid, name text, owner text, state text, budget_left bigint,
               store text, rate double precision, holders integer, min_delay_ms integer,
               owner_rate double precision, owner_holders integer, owner_min_delay_ms integer,
               forgotten_at timestamptz, started_at timestamptz, patterns_version integer)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- A crawl younger than this has not yet reached all workers that will send its requests.
    young constant interval := '1 minute';
    -- Average number of calls that do the chores, out of one call from each live worker.
    calls_with_chores constant integer := 10;
    live integer := (coordinator.share_of_slots()).live_workers;
begin
    if random() * live < calls_with_chores then
        perform coordinator.end_overdue_crawl();
        perform coordinator.make_links_partitions();
        perform coordinator.hold_crawls();
        perform coordinator.fire_schedules();
    end if;
    return query
    with open as materialized (
        select c.crawl, c.id, c.name, c.owner, c.state, c.budget_left, c.store, c.rate,
               c.min_delay_ms, c.started_at, c.patterns_version,
               c.started_at > clock_timestamp() - young as is_young
          from crawls c where c.state <> 'ended'),
    limits as materialized (
        select o.owner, l.rate, l.min_delay_ms
          from (select distinct p.owner from open p) o
          cross join lateral coordinator.limits_of_owner(o.owner) l),
    held as materialized (
        select distinct p.owner, p.crawl, s.holder
          from open p
          join limits l on l.owner = p.owner
          join crawl_slots cs on cs.crawl = p.crawl and cs.pending > 0
          join slots s on s.slot = cs.slot and s.holder is not null
         where p.rate is not null or l.rate is not null)
    select p.crawl, p.id, p.name, p.owner, p.state, p.budget_left, p.store, p.rate,
           case when p.is_young then live else greatest(1, (
               select count(*) from held h where h.crawl = p.crawl)::integer) end,
           p.min_delay_ms, l.rate,
           case when bool_or(p.is_young) over (partition by p.owner) then live else greatest(1, (
               select count(distinct h.holder) from held h where h.owner = p.owner)::integer) end,
           l.min_delay_ms, (select max(g.forgotten_at) from forgotten g), p.started_at,
           p.patterns_version
      from open p join limits l on l.owner = p.owner
     order by p.crawl;
end $$;
