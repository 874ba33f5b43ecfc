-- Returns whether a job with this many crashes runs under poison-item isolation, which
-- processes one item at a time: from the third crash on.
create or replace function coordinator.uses_isolation(p_crashes integer)
returns boolean language sql immutable as $$
    -- Limit min_crashes = 3: two crashes happen by chance when hosts are reclaimed; with three,
    -- an item in the job is a suspect.
    select p_crashes >= 3;
$$;
