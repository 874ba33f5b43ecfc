-- A slot's next holder repeats the work since the last checkpoint.
create or replace function coordinator.release_slots(
    p_worker text, p_slots smallint[], p_lease_numbers integer[], p_tokens uuid[],
    p_leaves boolean)
returns setof smallint language plpgsql security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
begin
    return query
    with mine as materialized (
        select s.slot from slots s
          join unnest(p_slots, p_lease_numbers, p_tokens) as shown (slot, lease_number, token)
            on s.slot = shown.slot and s.lease_number = shown.lease_number
           and s.lease_token = shown.token
         order by s.slot for no key update of s)
    update slots s set lease_token = null, lease_until = null, holder = null
      from mine where s.slot = mine.slot
    returning s.slot;
    if p_leaves then
        delete from workers w where w.worker = p_worker;
    end if;
end $$;
