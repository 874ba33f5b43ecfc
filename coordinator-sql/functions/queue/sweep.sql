-- Frees up to p_limit expired leases, each of which counts as a crash, and makes jobs ready
-- whose back-off is over. Skips rows that are locked.
create or replace function coordinator.sweep(p_limit integer)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- After the third crash, the back-off is up to four sixtieths of the lease time (20 s out
    -- of 5 minutes). Each further crash doubles it. Earlier crashes cause none.
    backoffs_per_lease constant integer := 60;
    -- Maximum back-off, because a poison item must be found within a run.
    max_backoff constant interval := '10 minutes';
    -- With this many doublings a back-off far exceeds max_backoff, and the power does not
    -- overflow.
    max_doublings constant integer := 20;
    -- The column is a smallint, so the count does not grow further.
    max_crashes constant integer := 32000;
    expired record;
    swept integer := 0;
begin
    for expired in
        select j.job_id, j.run, j.lease_number, j.worker_id, j.current_item, j.crashes,
               r.lease_ms, j.leased_at + coordinator.deadline(
                   j.kind, j.crashes, r.deadline_ms, r.rate, r.archive_rate) as deadline
          from jobs j join runs r using (run)
         where j.state = 'leased' and j.lease_until < clock_timestamp()
         limit p_limit for no key update of j skip locked
    loop
        perform coordinator.free_jobs(
            array[expired.job_id], 'pending', p_crashes => least(expired.crashes + 1, max_crashes),
            p_not_before => case when coordinator.uses_isolation(expired.crashes + 1)
                then clock_timestamp() + random() * least(
                    power(2, least(expired.crashes, max_doublings))
                        * expired.lease_ms / backoffs_per_lease * interval '1 ms',
                    max_backoff) end);
        insert into job_events (job_id, run, event, lease_number, worker_id, item, message)
        values (expired.job_id, expired.run, 'expired', expired.lease_number, expired.worker_id,
                expired.current_item,
                case when expired.deadline <= clock_timestamp() then 'the job reached its deadline'
                     else 'the lease expired' end
                || coalesce(' while it processed item ' || expired.current_item, ''));
        swept := swept + 1;
    end loop;

    with due as materialized (
        select j.job_id from jobs j
         where j.state = 'pending' and j.not_before <= clock_timestamp()
         limit p_limit for no key update skip locked)
    update jobs j set not_before = null
     where j.job_id = any (array(select d.job_id from due d))
       and j.state = 'pending' and j.not_before <= clock_timestamp();
    return swept;
end $$;
