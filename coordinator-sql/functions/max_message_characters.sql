-- Most characters of a message in job_events, which its check requires; longer messages are cut.
create or replace function coordinator.max_message_characters()
returns integer language sql immutable as $$ select 1000 $$;
