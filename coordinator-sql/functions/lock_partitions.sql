-- Waits until no other transaction makes or drops partitions; until the transaction ends no other
-- one does.
create or replace function coordinator.lock_partitions()
returns void language sql set search_path = everytab, pg_temp as $$
    -- Limit key = 4937291845: beside the keys of migrations and of starting scans, and used by
    -- nothing else.
    select pg_advisory_xact_lock(4937291845);
$$;
