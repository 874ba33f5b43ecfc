-- Gives a job back at once, and its attempt too: the holder leaves or cannot work now.
create or replace function coordinator.release(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_reason text)
returns text language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    given_back jobs%rowtype;
begin
    update jobs set state = 'pending', lease_token = null, lease_until = null, in_hand = null,
           not_before = null
     where job_id = p_job_id and lease_number = p_lease_number and lease_token = p_token
       and state = 'leased'
    returning * into given_back;
    if not found then
        return 'lost';
    end if;
    insert into job_events (job_id, scan, event, lease_number, holder, message)
    values (p_job_id, given_back.scan, 'release', p_lease_number, given_back.holder,
            left(p_reason, 1000));
    return 'released';
end $$;
