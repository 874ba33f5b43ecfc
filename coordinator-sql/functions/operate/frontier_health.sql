-- Links are normally read within seconds, so a partition that still exists hours later contains
-- links that a slot did not read. If cursors are ahead of this server's transactions, another
-- server's backup was restored without begin_epoch.
create or replace function coordinator.frontier_health(
    out open_crawls integer, out running_crawls integer, out stores text[],
    out live_workers integer, out held_slots integer, out slots integer,
    out suspect_slots smallint[], out isolated_slots smallint[], out oldest_links timestamptz,
    out is_of_another_server boolean, out server_time timestamptz)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
declare
    -- As in share_of_slots.
    seen_within constant interval := '15 seconds';
    -- As in lease_slots.
    suspect_deaths constant integer := 2;
    -- Limit seconds = 3600: an hour.
    hour constant integer := 3600;
begin
    select count(*), count(*) filter (where c.state = 'running'),
           coalesce(array_agg(distinct c.store), '{}')
      into open_crawls, running_crawls, stores
      from crawls c where c.state <> 'ended';
    select count(*) into live_workers
      from workers w where w.seen_at > clock_timestamp() - seen_within;
    select count(*) filter (where s.lease_until > clock_timestamp()), count(*),
           coalesce(array_agg(s.slot order by s.slot)
               filter (where s.deaths >= suspect_deaths), '{}'),
           coalesce(array_agg(s.slot order by s.slot)
               filter (where s.isolated_until > clock_timestamp()), '{}'),
           coalesce(bool_or(greatest(pg_snapshot_xmax(s.cursor), pg_snapshot_xmax(s.urgent_cursor))
                            > pg_snapshot_xmax(pg_current_snapshot())), false)
      into held_slots, slots, suspect_slots, isolated_slots, is_of_another_server
      from slots s;
    select to_timestamp(min(substr(c.relname, length('links_') + 1)::bigint) * hour)
      into oldest_links
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'everytab.links'::regclass;
    server_time := clock_timestamp();
end $$;
