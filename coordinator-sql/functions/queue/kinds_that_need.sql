-- The digest "encoder" identifies the icons that the worker's encoder makes from test vectors.
-- A digest with an unknown name affects every kind.
create or replace function coordinator.kinds_that_need(p_digest text)
returns everytab.job_kind[] language sql immutable as $$
    select case p_digest
        when 'encoder' then array['bundle-shard']::everytab.job_kind[]
        else enum_range(null::everytab.job_kind) end;
$$;
