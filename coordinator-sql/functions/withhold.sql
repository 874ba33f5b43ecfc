-- Sets a job to wait until what feeds it is done again. A holder is fenced off by a raised lease
-- number. A job without a row was counted as discarded with the warc job that would have fed it.
create or replace function coordinator.withhold(
    p_scan integer, p_kind everytab.job_kind, p_part integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    was job_state;
begin
    select state into was from jobs
     where scan = p_scan and kind = p_kind and part = p_part for no key update;
    update jobs
       set state = 'pending', not_before = 'infinity', attempts = 0, crashes = 0,
           lease_number = lease_number + (state = 'leased')::integer,
           lease_token = null, lease_until = null
     where scan = p_scan and kind = p_kind and part = p_part;
    if was is null or was in ('completed', 'discarded') then
        update stages
           set outstanding = outstanding + 1, finished_at = null,
               done = done - (was is not distinct from 'completed')::integer,
               discarded = discarded - (was is distinct from 'completed')::integer
         where scan = p_scan and kind = p_kind and (was is not null or discarded > 0);
    end if;
end $$;
