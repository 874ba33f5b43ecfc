-- Whether a job that outlived so many leases is run one item at a time: from its third crash on.
create or replace function coordinator.is_careful(p_crashes integer)
returns boolean language sql immutable as $$
    select p_crashes >= 3;
$$;
