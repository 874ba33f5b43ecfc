-- Frees the slots whose leases have expired, each as one more consecutive death, and forgets
-- workers that are gone. If a slot had already died as often as lease_slots checks, and was its
-- holder's only such slot, it fetches one URL at a time from then on: among several together
-- the cause is unknown. Rows that another transaction holds are skipped.
create or replace function coordinator.sweep_slots()
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- The column is a smallint; a slot that dies this often keeps this count.
    max_deaths constant integer := 32000;
    -- As lease_slots has it.
    suspect_deaths constant integer := 2;
    -- Long enough to find a URL that kills its worker.
    isolation constant interval := '10 minutes';
    -- Long after a gone worker's slots are free.
    remembered constant interval := '1 hour';
begin
    update slots s
       set lease_token = null, lease_until = null, holder = null,
           deaths = least(s.deaths + 1, max_deaths),
           isolated_until = case when s.deaths >= suspect_deaths and not exists (
                   select from slots o
                    where o.holder = s.holder and o.slot <> s.slot and o.deaths >= suspect_deaths)
               -- A URL was recorded meanwhile, which reset the deaths to zero.
               or s.isolated_until > clock_timestamp()
               then clock_timestamp() + isolation else s.isolated_until end
     where s.slot = any (array(select e.slot from slots e where e.lease_until < clock_timestamp()
                                order by e.slot for no key update skip locked));
    delete from workers w
     where w.worker = any (array(select g.worker from workers g
                                  where g.seen_at < clock_timestamp() - remembered
                                    for update skip locked));
end $$;
