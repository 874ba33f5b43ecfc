-- Reads links that slots have not read yet: rows of their groups whose mask names one of them and
-- whose transaction is not visible in the slot's cursor, so that a transaction that commits late is
-- not passed over. Urgent links have a cursor of their own. Links whose cursors are null are not
-- read.
--
-- Every row carries the ceiling: the cursor of these slots once they have merged all rows up to it.
-- At most p_limit rows come at a time, by their numbers; who gets so many asks again, with that
-- ceiling and the last number, for the next ones. The first row is only the ceiling.
create or replace function coordinator.read_links(
    p_slots smallint[], p_cursors text[], p_urgent_cursors text[], p_ceiling text,
    p_after bigint, p_limit integer)
returns table (ceiling text, id bigint, slots smallint[], crawl integer, is_urgent boolean,
               amount integer, data bytea)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    -- The slots of a group, as a mask of them has bits.
    slots_per_group constant smallint := 16;
    -- The snapshot of the statement that called.
    top pg_snapshot := coalesce(p_ceiling::pg_snapshot, pg_current_snapshot());
begin
    ceiling := top::text;
    return next;
    return query
    with asked as materialized (
        select a.slot, a.slot / slots_per_group as slot_group,
               1 << (a.slot % slots_per_group) as bit, l.urgent,
               l.snapshot::pg_snapshot as snapshot
          from unnest(p_slots, p_cursors, p_urgent_cursors) a (slot, cursor, urgent_cursor)
         cross join lateral (values (false, a.cursor), (true, a.urgent_cursor))
                        l (urgent, snapshot)
         where l.snapshot is not null),
    groups as materialized (
        select a.slot_group, a.urgent, min(pg_snapshot_xmin(a.snapshot)) as oldest
          from asked a group by a.slot_group, a.urgent)
    select top::text, u.id, u.slots, u.crawl, u.is_urgent, u.amount, u.data
      from (select l.id, l.crawl, l.is_urgent, l.amount, l.data,
                   array(select a.slot from asked a
                          where a.slot_group = l.slot_group and a.urgent = l.is_urgent
                            and l.slot_mask & a.bit <> 0
                            and not pg_visible_in_snapshot(l.xid, a.snapshot)) as slots
              from groups g
              join links l on l.slot_group = g.slot_group and l.is_urgent = g.urgent
                          and l.xid >= g.oldest
             where l.id > p_after and pg_visible_in_snapshot(l.xid, top)) u
     where cardinality(u.slots) > 0
     order by u.id limit p_limit;
end $$;
