-- Takes back every lease of a scan (null: of all scans) by raising the lease numbers: whoever held
-- one is fenced off. It counts no crash. Answers how many.
create or replace function coordinator.revoke_leases(p_scan integer, p_reason text)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    revoked integer;
begin
    lock table jobs in exclusive mode;
    with taken as (
        update jobs j set state = 'pending', lease_number = j.lease_number + 1,
               lease_token = null, lease_until = null, in_hand = null, not_before = null
         where j.state = 'leased' and (p_scan is null or j.scan = p_scan)
        returning j.job_id, j.scan, j.lease_number, j.holder)
    insert into job_events (job_id, scan, event, lease_number, holder, message)
    select job_id, scan, 'revoked', lease_number, holder, left(p_reason, 1000) from taken;
    get diagnostics revoked = row_count;
    return revoked;
end $$;
