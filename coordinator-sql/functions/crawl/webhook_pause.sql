-- Returns the pause after a failed attempt at an event, by how many have failed: from 5 seconds
-- to 8 hours. A tenth more or less, so that events that failed together are not sent together
-- again.
create or replace function coordinator.webhook_pause(p_failures integer)
returns interval language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- Nine attempts fill the day for which an event is tried.
    pauses constant interval[] :=
        -- Limit minutes = 15: three earlier attempts find a receiver that was restarted.
        '{5 seconds,1 minute,5 minutes,15 minutes,1 hour,2 hours,4 hours,8 hours}';
begin
    return pauses[greatest(least(p_failures, cardinality(pauses)), 1)] * (0.9 + 0.2 * random());
end $$;
