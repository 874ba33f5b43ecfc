-- Returns the job kinds whose output depends on a named digest: a worker with another digest
-- does not perform them. encoder is the digest over the icons that the worker's encoder makes
-- from test vectors. A name that this program does not know affects every kind.
create or replace function coordinator.kinds_that_need(p_digest text)
returns everytab.job_kind[] language sql immutable as $$
    select case p_digest
        when 'encoder' then array['bundle-shard']::everytab.job_kind[]
        else enum_range(null::everytab.job_kind) end;
$$;
