-- Later steps read these counts.
create or replace function coordinator.check_stats(p_kind everytab.job_kind, p_stats jsonb)
returns void language plpgsql immutable set search_path = everytab, pg_temp as $$
declare
    -- This allows far more hosts than the web has, and their sum still fits into a bigint.
    max_digits constant integer := 12;
begin
    if jsonb_typeof(p_stats -> 'inputs') is distinct from 'object'
       or jsonb_typeof(p_stats -> 'outcomes') is distinct from 'object'
       or p_kind = 'index'
          and coalesce(p_stats -> 'counts' ->> 'hosts', '')
              !~ format('^[0-9]{1,%s}$', max_digits) then
        raise exception 'the completion of a job of kind % lacks its counts', p_kind
            using errcode = 'invalid_parameter_value',
                  hint = 'inputs and outcomes must be objects; index jobs must set counts.hosts';
    end if;
end $$;
