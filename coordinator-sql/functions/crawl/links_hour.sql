-- Returns the current hour, counted from 1970. If its partition does not exist, creates it, and
-- other callers wait for this transaction.
create or replace function coordinator.links_hour()
returns integer language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Limit seconds = 3600: an hour.
    hour constant integer := extract(epoch from clock_timestamp())::bigint / 3600;
begin
    if to_regclass('everytab.links_' || hour) is null then
        perform coordinator.make_links_partition(hour);
    end if;
    return hour;
end $$;
