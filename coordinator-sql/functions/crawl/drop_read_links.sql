-- Drops the partitions of links that every slot has read, and returns how many. Returns 0 if
-- another transaction is using the table.
create or replace function coordinator.drop_read_links()
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- Limit seconds = 3600: an hour.
    this_hour constant integer := extract(epoch from clock_timestamp())::bigint / 3600;
    -- Every slot has read all rows of lower transactions.
    all_read xid8;
    partition record;
    is_unread boolean;
    read_partitions text[] := '{}';
begin
    perform coordinator.lock_partitions();
    select min(least(pg_snapshot_xmin(cursor), pg_snapshot_xmin(urgent_cursor))) into all_read
      from slots;
    for partition in
        select c.relname::text, substr(c.relname, length('links_') + 1)::integer as hour
          from pg_inherits i join pg_class c on c.oid = i.inhrelid
         where i.inhparent = 'everytab.links'::regclass order by hour
    loop
        -- A transaction that started in this hour or the last one may still write to its
        -- partition.
        exit when partition.hour >= this_hour - 1;
        execute format(
            'select exists (select from (select distinct xid from everytab.%I where xid >= $1) l
                              join everytab.slots s on not pg_visible_in_snapshot(l.xid, s.cursor)
                                or not pg_visible_in_snapshot(l.xid, s.urgent_cursor))',
            partition.relname) into is_unread using all_read;
        exit when is_unread;
        read_partitions := read_partitions || partition.relname;
    end loop;
    if read_partitions = '{}' then
        return 0;
    end if;
    perform coordinator.drop_partitions(array['links'], read_partitions);
    return cardinality(read_partitions);
exception
    when sqlstate 'ET011' then return 0;
end $$;
