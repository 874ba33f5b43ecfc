-- Waits until no other transaction is creating or dropping partitions, and prevents others from
-- doing so until this transaction ends.
create or replace function coordinator.lock_partitions()
returns void language sql set search_path = everytab, pg_temp as $$
    -- Limit key = 4937291845: the number after the migrations' key; nothing else uses this key.
    select pg_advisory_xact_lock(4937291845);
$$;
