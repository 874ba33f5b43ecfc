-- Lets live crawls continue in a database that was restored from a backup. The new server
-- assigns transaction ids from the start, so those in cursors and links are wrong. Therefore
-- this transaction rewrites the links that some slots have not read, only for these slots,
-- deletes all other links, and lets each slot read from the beginning.
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
