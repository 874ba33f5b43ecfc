-- A slot's fence: locks the slot's row if slot, lease number and token are its current lease,
-- and otherwise returns nulls. The token starts with the server's timeline, so that the lease
-- ends when a standby is promoted: an asynchronous standby may lack its holder's checkpoints,
-- and reuses transaction ids that the holder's cursors contain.
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
