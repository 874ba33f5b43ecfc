-- Waits until no other transaction makes or drops partitions; until the transaction ends no other
-- one does.
create or replace function coordinator.lock_partitions()
returns void language sql set search_path = everytab, pg_temp as $$
    -- Limit key = 4937291845: next to the keys for migrations and for starting scans; nothing
    -- else uses it.
    select pg_advisory_xact_lock(4937291845);
$$;
