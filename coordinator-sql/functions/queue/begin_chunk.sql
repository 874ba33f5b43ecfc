-- Checks the fence before a chunk of rows is recorded. held is true if the lease is current.
-- fresh is true if the rows must still be written: chunks are numbered from 1 within a lease,
-- and if the reply is lost, the worker sends the same chunk again. held is also false in two
-- other cases. The first is a job whose kind is not p_kind, because a lease grants access only
-- to rows of its own kind. The second is a missing earlier chunk, which a failover to an
-- asynchronous standby can lose although it keeps the lease. The output would then be
-- incomplete.
create or replace function coordinator.begin_chunk(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_chunk integer,
    p_kind everytab.job_kind,
    out held boolean, out fresh boolean, out run integer, out part integer)
language plpgsql set search_path = everytab, pg_temp as $$
declare
    fenced jobs;
begin
    fenced := coordinator.check_fence(p_job_id, p_lease_number, p_token);
    held := coalesce(fenced.kind = p_kind and p_chunk <= fenced.chunks + 1, false);
    fresh := held and p_chunk > fenced.chunks;
    run := fenced.run;
    part := fenced.part;
    if fresh then
        update jobs j set chunks = p_chunk where j.job_id = p_job_id;
    end if;
end $$;
