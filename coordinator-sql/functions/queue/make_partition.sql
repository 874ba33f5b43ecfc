-- p_bounds is as in `attach partition`.
create or replace function coordinator.make_partition(p_table text, p_name text, p_bounds text)
returns void language plpgsql set search_path = everytab, pg_temp as $$
begin
    perform coordinator.lock_partitions();
    -- The catalog is queried, because this session may have cached that the table does not
    -- exist, and taking this lock does not invalidate the cache.
    if not exists (select from pg_class c
                    where c.relnamespace = 'everytab'::regnamespace and c.relname = p_name) then
        -- Attaching a table does not block readers and writers. Creating it as a partition
        -- would.
        execute format('create table everytab.%I (like everytab.%I including all)',
                       p_name, p_table);
        execute format('alter table everytab.%I attach partition everytab.%I for values %s',
                       p_table, p_name, p_bounds);
    end if;
end $$;
