-- Revokes all leases in a run, or in all runs if p_run is null, without counting a crash.
-- Raises ET011 if the jobs remain locked by another session.
create or replace function coordinator.revoke_leases(p_run integer, p_reason text)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    revoked bigint[];
begin
    perform coordinator.lock_tables(array['jobs'], 'exclusive');
    with leased as materialized (
        select j.job_id, j.run, j.lease_number, j.worker_id from jobs j
         where j.state = 'leased' and (p_run is null or j.run = p_run)),
    noted as (
        insert into job_events (job_id, run, event, lease_number, worker_id, message)
        select l.job_id, l.run, 'revoked', l.lease_number + 1, l.worker_id,
               left(p_reason, coordinator.max_message_characters())
          from leased l)
    select array_agg(l.job_id) into revoked from leased l;
    perform coordinator.free_jobs(revoked, 'pending', p_revoked => true);
    return coalesce(cardinality(revoked), 0);
end $$;
