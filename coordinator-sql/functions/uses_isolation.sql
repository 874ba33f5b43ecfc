-- Whether a job with so many crashes is performed under poison-item isolation, which handles one
-- item at a time: from the third crash on. Two crashes happen by chance when machines are taken
-- away; three of the same job make one of its items a suspect.
create or replace function coordinator.uses_isolation(p_crashes integer)
returns boolean language sql immutable as $$
    select p_crashes >= 3;
$$;
