-- Whether a job with so many crashes is performed under poison-item isolation, which handles one
-- item at a time: from the third crash on.
create or replace function coordinator.uses_isolation(p_crashes integer)
returns boolean language sql immutable as $$
    -- Limit min_crashes = 3: two crashes of a job happen by chance when machines are taken away;
    -- three make one of its items a suspect.
    select p_crashes >= 3;
$$;
