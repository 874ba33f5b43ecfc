-- Lets live crawls continue in a database that was restored from a backup. Cursors contain
-- transaction ids, but the new server assigns ids from the start. Compared with the old
-- cursors, its new links would seem to be read already, and old links would seem to be
-- uncommitted. Therefore this transaction rewrites the links that some slots have not read,
-- only for these slots, and deletes all other links. Each slot then reads from the beginning.
-- Leases were granted by another server, so they are ended without counting deaths.
--
-- This may be run at any time, and repeatedly. Returns the number of the new epoch. Null if
-- there is no crawl.
create or replace function coordinator.begin_epoch()
returns smallint language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Slots per group: as many as a mask has bits.
    slots_per_group constant smallint := 16;
    -- The cursor for a slot that has read nothing.
    nothing_read constant pg_snapshot := '1:1:';
    new_epoch smallint;
begin
    if not exists (select from crawls) then
        return null;
    end if;
    delete from workers w
     where w.worker = any (array(select g.worker from workers g for update skip locked));
    -- This waits for checkpoints, which move cursors. Later checkpoints fail because their
    -- leases are gone.
    lock table slots in exclusive mode;
    with unread as materialized (
        select l.hour, l.id, sum(1 << (s.slot % slots_per_group))::integer as mask
          from links l
          join slots s on s.slot / slots_per_group = l.slot_group
                      and l.slot_mask & (1 << (s.slot % slots_per_group)) <> 0
                      and not pg_visible_in_snapshot(
                          l.xid, case when l.is_urgent then s.urgent_cursor else s.cursor end)
         group by l.hour, l.id),
    deleted as (
        delete from links l
         where not exists (select from unread u where u.hour = l.hour and u.id = l.id))
    update links l set xid = pg_current_xact_id(), slot_mask = u.mask
      from unread u where u.hour = l.hour and u.id = l.id;
    update slots
       set cursor = nothing_read, urgent_cursor = nothing_read,
           lease_token = null, lease_until = null, holder = null;
    insert into restores (epoch) select coalesce(max(r.epoch), 0) + 1 from restores r
    returning epoch into new_epoch;
    return new_epoch;
end $$;
