create or replace function coordinator.make_fetches_partition(
    p_crawl integer, p_table text default 'fetches')
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Number of crawls that share a partition: few enough to drop old crawls together, and
    -- enough that a crawl with a single URL does not cost a table.
    crawls_per_partition constant integer := 64;
    number integer := p_crawl / crawls_per_partition;
    name text := p_table || '_' || number;
begin
    if to_regclass('everytab.' || name) is null then
        perform coordinator.make_partition(
            p_table, name, format('from (%s) to (%s)', number * crawls_per_partition,
                                  (number + 1) * crawls_per_partition));
    end if;
end $$;
