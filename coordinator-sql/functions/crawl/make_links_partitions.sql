-- Creates this hour's and the next hour's partition, so that transactions that write links need
-- not create them.
create or replace function coordinator.make_links_partitions()
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    hour integer := coordinator.links_hour() + 1;
begin
    if to_regclass('everytab.links_' || hour) is null then
        perform coordinator.make_links_partition(hour);
    end if;
end $$;
