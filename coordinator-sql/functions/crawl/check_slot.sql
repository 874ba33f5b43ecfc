-- A slot's fence. Locks its row and returns it while (slot, lease number, token) is the slot's
-- current lease; returns a row with nulls if the lease is lost. A lease ends with the timeline
-- at the start of its token: an asynchronous standby that was promoted may lack checkpoints
-- from its holder, and reuses transaction ids in the holder's cursors.
create or replace function coordinator.check_slot(
    p_slot smallint, p_lease_number integer, p_token uuid)
returns everytab.slots language plpgsql set search_path = everytab, pg_temp as $$
declare
    fenced slots;
begin
    select * into fenced from slots
     where slot = p_slot and lease_number = p_lease_number and lease_token = p_token
       and left(lease_token::text, 8) = coordinator.timeline()
       for no key update;
    return fenced;
end $$;
