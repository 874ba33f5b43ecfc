-- Raises ET011 if another session uses these partitions or tables. The transaction should end
-- after this call, because dropping a partition locks its table.
create or replace function coordinator.drop_partitions(p_tables text[], p_partitions text[])
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    next_partition text;
begin
    perform coordinator.lock_tables(p_tables || p_partitions, 'access exclusive');
    foreach next_partition in array p_partitions loop
        execute format('drop table everytab.%I', next_partition);
    end loop;
end $$;
