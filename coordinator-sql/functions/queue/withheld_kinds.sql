-- p_wanted contains the run's digests, and p_offered the worker's.
create or replace function coordinator.withheld_kinds(p_wanted jsonb, p_offered jsonb)
returns everytab.job_kind[] language sql immutable as $$
    select coalesce(array_agg(distinct needing.kind), '{}')
      from jsonb_each_text(p_wanted) as wanted (name, digest)
     cross join lateral unnest(coordinator.kinds_that_need(wanted.name)) as needing (kind)
     where p_offered ->> wanted.name is distinct from wanted.digest;
$$;
