-- Gives back up to p_limit expired leases and makes due jobs ready. Any worker calls it in passing;
-- each statement carries its own predicate, so that it cannot touch a job that moved on. A job
-- that outlived three leases is backed off; the item that a careful run had in hand when it died is
-- written down with the death.
create or replace function coordinator.sweep(p_limit integer)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    swept integer;
begin
    with expired as materialized (
        select j.job_id, j.in_hand from jobs j
         where j.state = 'leased' and j.lease_until < clock_timestamp()
         limit p_limit for no key update skip locked),
    freed as (
        update jobs j
           set state = 'pending', crashes = least(j.crashes + 1, 32000)::smallint,
               lease_token = null, lease_until = null, in_hand = null,
               not_before = case when coordinator.is_careful(j.crashes + 1)
                   then clock_timestamp() + random() * least(
                       power(2, least(j.crashes, 20)) * s.lease_ms / 60 * interval '1 ms',
                       interval '10 minutes') end
          from expired e, scans s
         where j.job_id = any (array(select x.job_id from expired x)) and j.job_id = e.job_id
           and s.scan = j.scan and j.state = 'leased' and j.lease_until < clock_timestamp()
        returning j.job_id, j.scan, j.lease_number, j.holder, e.in_hand,
                  j.leased_at + coordinator.deadline(j.kind, j.crashes - 1, s.deadline_ms)
                      as latest)
    insert into job_events (job_id, scan, event, lease_number, holder, item, message)
    select job_id, scan, 'expired', lease_number, holder, in_hand,
           case when latest <= clock_timestamp() then 'the run met its deadline'
                else 'the lease ran out' end
           || coalesce(' with item ' || in_hand || ' in hand', '')
      from freed;
    get diagnostics swept = row_count;

    with due as materialized (
        select j.job_id from jobs j
         where j.state = 'pending' and j.not_before <= clock_timestamp()
         limit p_limit for no key update skip locked)
    update jobs j set not_before = null
     where j.job_id = any (array(select d.job_id from due d))
       and j.state = 'pending' and j.not_before <= clock_timestamp();
    return swept;
end $$;
