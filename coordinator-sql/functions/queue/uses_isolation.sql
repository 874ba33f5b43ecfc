create or replace function coordinator.uses_isolation(p_crashes integer)
returns boolean language sql immutable as $$
    -- Limit min_crashes = 3: two crashes may happen by chance when hosts are reclaimed; after
    -- three, an item in the job is a suspect.
    select p_crashes >= 3;
$$;
