-- Poison-item isolation: the sweep finds the item's number if the worker dies.
create or replace function coordinator.checkpoint_item(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_item bigint)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
begin
    update jobs set current_item = p_item
     where job_id = p_job_id and lease_number = p_lease_number and lease_token = p_token
       and state = 'leased';
    return found;
end $$;
