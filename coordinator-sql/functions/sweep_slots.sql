-- Frees the slots whose leases have run out, each as one more death in a row, and forgets workers
-- that have gone. Rows that another transaction holds are skipped.
create or replace function coordinator.sweep_slots()
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- The column is a smallint; a slot that dies so often stays at this count.
    max_deaths constant integer := 32000;
    -- From this death in a row on the slot asks one URL at a time, for a while.
    isolating_deaths constant integer := 3;
    -- Long enough to find a URL that kills its worker.
    isolation constant interval := '10 minutes';
    -- Long after the slots of a worker that has gone are free.
    remembered constant interval := '1 hour';
begin
    update slots s
       set lease_token = null, lease_until = null, holder = null,
           deaths = least(s.deaths + 1, max_deaths),
           isolated_until = case when s.deaths + 1 >= isolating_deaths
               then clock_timestamp() + isolation else s.isolated_until end
     where s.slot = any (array(select e.slot from slots e where e.lease_until < clock_timestamp()
                                order by e.slot for no key update skip locked));
    delete from workers w
     where w.worker = any (array(select g.worker from workers g
                                  where g.seen_at < clock_timestamp() - remembered
                                    for update skip locked));
end $$;
