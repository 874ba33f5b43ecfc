-- The fence: locks the job when (job, lease number, token) still holds it, else answers that it
-- is not held. The row lock also keeps the sweep away until the transaction ends. Chunks are
-- numbered from 1 within a lease, so that one sent again, because the reply was lost, is not fresh.
create or replace function coordinator.hold(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_chunk integer,
    out held boolean, out fresh boolean, out scan integer, out part integer)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    recorded integer;
begin
    select j.scan, j.part, j.chunks into scan, part, recorded from jobs j
     where j.job_id = p_job_id and j.lease_number = p_lease_number
       and j.lease_token = p_token and j.state = 'leased'
       for no key update;
    held := found;
    fresh := found and p_chunk > recorded;
    if fresh then
        update jobs j set chunks = p_chunk where j.job_id = p_job_id;
    end if;
end $$;
