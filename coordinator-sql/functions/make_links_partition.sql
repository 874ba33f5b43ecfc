-- Makes the partition of an hour's links, where it does not exist.
create or replace function coordinator.make_links_partition(p_hour integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    name text := 'links_' || p_hour;
begin
    perform coordinator.lock_partitions();
    -- A session may remember that there was no such table, and taking this lock does not tell it.
    if not exists (select from pg_class c
                    where c.relnamespace = 'everytab'::regnamespace and c.relname = name) then
        execute format('create table everytab.%I (like everytab.links including all)', name);
        execute format('alter table everytab.links attach partition everytab.%I
                            for values from (%s) to (%s)', name, p_hour, p_hour + 1);
    end if;
end $$;
