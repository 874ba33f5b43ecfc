-- How many hostname ranges the search index has: digits, a to z, and the rest.
create or replace function coordinator.search_ranges()
returns integer language sql immutable as $$ select 28 $$;
