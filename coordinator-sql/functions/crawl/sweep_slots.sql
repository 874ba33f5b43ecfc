-- Frees slots whose leases have expired, which counts as one more consecutive death each, and
-- deletes workers that are gone. A suspect (lease_slots) whose holder held no other suspect is
-- isolated: it fetches one URL at a time. Skips rows that are locked.
create or replace function coordinator.sweep_slots()
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- The column is a smallint, so the count does not grow further.
    max_deaths constant integer := 32000;
    -- As in lease_slots.
    suspect_deaths constant integer := 2;
    -- Long enough to find a URL that kills its worker.
    isolation constant interval := '10 minutes';
    -- By then the slots of a worker that is gone have long been freed.
    remembered constant interval := '1 hour';
begin
    update slots s
       set lease_token = null, lease_until = null, holder = null,
           deaths = least(s.deaths + 1, max_deaths),
           isolated_until = case when s.deaths >= suspect_deaths and not exists (
                   select from slots o
                    where o.holder = s.holder and o.slot <> s.slot and o.deaths >= suspect_deaths)
               -- Also extend an isolation, because a checkpoint of another URL has reset the
               -- deaths to zero.
               or s.isolated_until > clock_timestamp()
               then clock_timestamp() + isolation else s.isolated_until end
     where s.slot = any (array(select e.slot from slots e where e.lease_until < clock_timestamp()
                                order by e.slot for no key update skip locked));
    delete from workers w
     where w.worker = any (array(select g.worker from workers g
                                  where g.seen_at < clock_timestamp() - remembered
                                    for update skip locked));
end $$;
