create or replace function coordinator.share_of_slots(out live_workers integer, out share integer)
language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Three renewals.
    seen_within constant interval := '15 seconds';
    -- The number of rows in the table slots.
    all_slots constant integer := 256;
begin
    select greatest(count(*), 1) into live_workers from workers
     where seen_at > clock_timestamp() - seen_within;
    share := (all_slots + live_workers - 1) / live_workers;
end $$;
