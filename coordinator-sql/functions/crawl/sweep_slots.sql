-- Frees the slots whose leases have expired, which counts as one more consecutive death each,
-- and deletes workers that are gone. If a slot was already a suspect (lease_slots) and its
-- holder held no other suspect, the slot fetches one URL at a time from then on. If the holder
-- held several suspects, it is unknown which one killed the worker. Rows that another
-- transaction has locked are skipped.
create or replace function coordinator.sweep_slots()
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- The column is a smallint, so the count does not grow further.
    max_deaths constant integer := 32000;
    -- As lease_slots has it.
    suspect_deaths constant integer := 2;
    -- This is enough to find a URL that kills its worker.
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
               -- Also extend an isolation: a checkpoint of another URL has reset the deaths to
               -- zero.
               or s.isolated_until > clock_timestamp()
               then clock_timestamp() + isolation else s.isolated_until end
     where s.slot = any (array(select e.slot from slots e where e.lease_until < clock_timestamp()
                                order by e.slot for no key update skip locked));
    delete from workers w
     where w.worker = any (array(select g.worker from workers g
                                  where g.seen_at < clock_timestamp() - remembered
                                    for update skip locked));
end $$;
