-- The pause varies by up to a tenth, so that events that failed together are not retried
-- together.
create or replace function coordinator.webhook_pause(p_failures integer)
returns interval language plpgsql set search_path = everytab, pg_temp as $$
declare
    -- An event is retried for a day, which is enough time for nine attempts.
    pauses constant interval[] :=
        -- Limit minutes = 15: the three earlier attempts suffice if a receiver was only
        -- restarted.
        '{5 seconds,1 minute,5 minutes,15 minutes,1 hour,2 hours,4 hours,8 hours}';
begin
    return pauses[greatest(least(p_failures, cardinality(pauses)), 1)] * (0.9 + 0.2 * random());
end $$;
