-- Gives back up to p_limit expired leases and makes due jobs ready. Any worker calls it in passing;
-- each statement carries its own predicate, so that it cannot touch a job that moved on. A job
-- that outlived three leases is backed off.
create or replace function coordinator.sweep(p_limit integer)
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    swept integer;
begin
    with expired as materialized (
        select j.job_id from jobs j
         where j.state = 'leased' and j.lease_until < clock_timestamp()
         order by j.job_id limit p_limit for no key update skip locked),
    freed as (
        update jobs j
           set state = 'pending', crashes = least(j.crashes + 1, 32000)::smallint,
               lease_token = null, lease_until = null,
               not_before = case when j.crashes >= 2 then clock_timestamp()
                   + least(power(2, j.crashes) * 5, 600) * random() * interval '1 second' end
         where j.job_id = any (array(select e.job_id from expired e))
           and j.state = 'leased' and j.lease_until < clock_timestamp()
        returning j.job_id, j.scan, j.lease_number, j.holder)
    insert into job_events (job_id, scan, event, lease_number, holder, message)
    select job_id, scan, 'expired', lease_number, holder, 'the lease ran out' from freed;
    get diagnostics swept = row_count;

    with due as materialized (
        select j.job_id from jobs j
         where j.state = 'pending' and j.not_before <= clock_timestamp()
         order by j.not_before limit p_limit for no key update skip locked)
    update jobs j set not_before = null
     where j.job_id = any (array(select d.job_id from due d))
       and j.state = 'pending' and j.not_before <= clock_timestamp();
    return swept;
end $$;
