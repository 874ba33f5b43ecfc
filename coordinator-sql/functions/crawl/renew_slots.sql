-- Extends a worker's slot leases, and returns those that it still holds. Also records that the
-- worker is alive, and frees slots whose leases have expired.
create or replace function coordinator.renew_slots(
    p_worker text, p_slots smallint[], p_lease_numbers integer[], p_tokens uuid[],
    out held smallint[], out live_workers integer, out share integer)
language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    -- As in lease_slots.
    lease_ms constant integer := 30000;
begin
    insert into workers as w (worker, seen_at) values (p_worker, clock_timestamp())
        on conflict (worker) do update set seen_at = excluded.seen_at;
    select s.live_workers, s.share into live_workers, share from coordinator.share_of_slots() s;
    with mine as materialized (
        select s.slot from slots s
          join unnest(p_slots, p_lease_numbers, p_tokens) as shown (slot, lease_number, token)
            on s.slot = shown.slot and s.lease_number = shown.lease_number
           and s.lease_token = shown.token
         -- The lease must be from this timeline, as in check_slot.
         where left(s.lease_token::text, 8) = coordinator.timeline()
         order by s.slot for no key update of s),
    renewed as (
        update slots s set lease_until = clock_timestamp() + lease_ms * interval '1 ms'
          from mine where s.slot = mine.slot
        returning s.slot)
    select coalesce(array_agg(r.slot), '{}') into held from renewed r;
    perform coordinator.sweep_slots();
end $$;
