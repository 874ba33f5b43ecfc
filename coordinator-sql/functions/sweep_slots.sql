-- Frees the slots whose leases have run out, each as one more death in a row, and forgets workers
-- that have gone. One that had died as often as lease_slots looks at, and was its holder's only
-- such slot, asks one URL at a time from then on: of several together it is not known which is the
-- cause. Rows that another transaction holds are skipped.
create or replace function coordinator.sweep_slots()
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- The column is a smallint; a slot that dies so often stays at this count.
    max_deaths constant integer := 32000;
    -- As lease_slots has it.
    suspect_deaths constant integer := 2;
    -- Long enough to find a URL that kills its worker.
    isolation constant interval := '10 minutes';
    -- Long after the slots of a worker that has gone are free.
    remembered constant interval := '1 hour';
begin
    update slots s
       set lease_token = null, lease_until = null, holder = null,
           deaths = least(s.deaths + 1, max_deaths),
           isolated_until = case when s.deaths >= suspect_deaths and not exists (
                   select from slots o
                    where o.holder = s.holder and o.slot <> s.slot and o.deaths >= suspect_deaths)
               -- A URL was written down meanwhile, which set the deaths to zero.
               or s.isolated_until > clock_timestamp()
               then clock_timestamp() + isolation else s.isolated_until end
     where s.slot = any (array(select e.slot from slots e where e.lease_until < clock_timestamp()
                                order by e.slot for no key update skip locked));
    delete from workers w
     where w.worker = any (array(select g.worker from workers g
                                  where g.seen_at < clock_timestamp() - remembered
                                    for update skip locked));
end $$;
