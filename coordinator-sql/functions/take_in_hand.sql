-- Careful mode: writes down which item of a job its holder handles from now on, before it does. If
-- the worker dies meanwhile, the sweep finds it here. False: the lease is lost.
create or replace function coordinator.take_in_hand(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_item bigint)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update jobs set in_hand = p_item
     where job_id = p_job_id and lease_number = p_lease_number and lease_token = p_token
       and state = 'leased';
    return found;
end $$;
