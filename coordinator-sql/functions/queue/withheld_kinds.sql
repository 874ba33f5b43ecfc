-- Returns the job kinds that a worker may not perform for a run, because one of the run's
-- digests (p_wanted) differs from the worker's (p_offered). Digests that the run does not
-- require are ignored.
create or replace function coordinator.withheld_kinds(p_wanted jsonb, p_offered jsonb)
returns everytab.job_kind[] language sql immutable as $$
    select coalesce(array_agg(distinct needing.kind), '{}')
      from jsonb_each_text(p_wanted) as wanted (name, digest)
     cross join lateral unnest(coordinator.kinds_that_need(wanted.name)) as needing (kind)
     where p_offered ->> wanted.name is distinct from wanted.digest;
$$;
