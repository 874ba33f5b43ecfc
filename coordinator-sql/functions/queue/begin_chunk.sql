-- Chunks are numbered from 1 within a lease, and fresh is false if the worker has sent this one
-- before. held is also false if the job's kind is not p_kind, because a lease grants access
-- only to rows of its own kind, and if an earlier chunk is missing: a failover to an
-- asynchronous standby can lose a chunk although it keeps the lease.
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
