-- Maximum characters in a job_events message, which its check requires; longer messages are
-- truncated.
create or replace function coordinator.max_message_characters()
returns integer language sql immutable as $$ select 1000 $$;
