-- Maximum characters in a job_events message. A CHECK constraint has the same limit, so longer
-- messages are truncated.
create or replace function coordinator.max_message_characters()
returns integer language sql immutable as $$ select 1000 $$;
