-- Makes the partition that holds a crawl's rows, of fetches or fetch_texts, where it does not
-- exist.
create or replace function coordinator.make_fetches_partition(
    p_crawl integer, p_table text default 'fetches')
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Crawls that share a partition: few enough to drop old ones together, and a crawl of a single
    -- URL does not cost a table.
    crawls_per_partition constant integer := 64;
    number integer := p_crawl / crawls_per_partition;
    name text := p_table || '_' || number;
begin
    if to_regclass('everytab.' || name) is not null then
        return;
    end if;
    perform coordinator.lock_partitions();
    -- A session may remember that there was no such table, and taking this lock does not tell it.
    if not exists (select from pg_class c
                    where c.relnamespace = 'everytab'::regnamespace and c.relname = name) then
        -- Attaching does not keep others from reading and writing; making it in place would.
        execute format('create table everytab.%I (like everytab.%I including all)', name, p_table);
        execute format('alter table everytab.%I attach partition everytab.%I
                            for values from (%s) to (%s)', p_table,
                       name, number * crawls_per_partition, (number + 1) * crawls_per_partition);
    end if;
end $$;
