-- Makes the partition of fetches that holds a crawl's rows, where it does not exist.
create or replace function coordinator.make_fetches_partition(p_crawl integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Crawls that share a partition: few enough to drop old ones together, and a crawl of a single
    -- URL does not cost a table.
    crawls_per_partition constant integer := 64;
    number integer := p_crawl / crawls_per_partition;
    name text := 'fetches_' || number;
begin
    if to_regclass('everytab.' || name) is not null then
        return;
    end if;
    perform coordinator.lock_partitions();
    if to_regclass('everytab.' || name) is null then
        -- Attaching does not keep others from reading and writing; making it in place would.
        execute format('create table everytab.%I (like everytab.fetches including all)', name);
        execute format('alter table everytab.fetches attach partition everytab.%I
                            for values from (%s) to (%s)',
                       name, number * crawls_per_partition, (number + 1) * crawls_per_partition);
    end if;
end $$;
