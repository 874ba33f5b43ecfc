-- Reads links that slots have not read yet: rows whose mask contains one of these slots, and
-- whose transaction is not visible in this slot's cursor, so that a transaction that commits
-- late is not skipped. The ceiling becomes these slots' cursor once they have merged all rows
-- below it.
--
-- The first row contains only the ceiling. A caller that gets p_limit further rows calls again
-- with this ceiling and the last row's position.
create or replace function coordinator.read_links(
    p_slots smallint[], p_cursors text[], p_is_urgent boolean, p_ceiling text, p_position text,
    p_limit integer)
returns table (ceiling text, "position" text, slots smallint[], crawl integer, amount integer,
               data bytea)
language plpgsql stable security definer set search_path = everytab, pg_temp
-- As in api.feed.
set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
    -- Slots per group: as many as a mask has bits.
    slots_per_group constant smallint := 16;
    -- The calling statement's snapshot.
    top pg_snapshot := coalesce(p_ceiling::pg_snapshot, pg_current_snapshot());
    after_group smallint := split_part(p_position, ':', 1);
    after_xid xid8 := split_part(p_position, ':', 2);
    after_id bigint := split_part(p_position, ':', 3);
    remaining integer := p_limit;
    found integer;
    asked record;
begin
    ceiling := top::text;
    return next;
    for asked in
        select a.slot / slots_per_group as slot_group,
               min(pg_snapshot_xmin(a.cursor::pg_snapshot)) as oldest,
               array_agg(a.slot) as slots,
               array_agg(1 << (a.slot % slots_per_group)) as bits,
               array_agg(a.cursor::pg_snapshot) as cursors
          from unnest(p_slots, p_cursors) a (slot, cursor)
         group by 1 having a.slot / slots_per_group >= coalesce(after_group, 0) order by 1
    loop
        if asked.slot_group is distinct from after_group then
            after_xid := asked.oldest;
            after_id := -1;
        end if;
        return query
        select top::text, format('%s:%s:%s', asked.slot_group, u.xid, u.id), u.slots, u.crawl,
               u.amount, u.data
          from (select l.xid, l.id, l.crawl, l.amount, l.data,
                       array(select s.slot
                               from unnest(asked.slots, asked.bits, asked.cursors)
                                    s (slot, bit, cursor)
                              where l.slot_mask & s.bit <> 0
                                and not pg_visible_in_snapshot(l.xid, s.cursor)) as slots
                  from links l
                 where l.slot_group = asked.slot_group and l.is_urgent = p_is_urgent
                   and (l.xid, l.id) > (after_xid, after_id) and l.xid < pg_snapshot_xmax(top)
                   and pg_visible_in_snapshot(l.xid, top)) u
         where cardinality(u.slots) > 0
         order by u.xid, u.id limit remaining;
        get diagnostics found = row_count;
        remaining := remaining - found;
        exit when remaining = 0;
    end loop;
end $$;
