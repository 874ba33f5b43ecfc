-- The number of hostname ranges in the search index, one search job each: digits, a to z, and all
-- other first characters. `bundler` has the same number.
create or replace function coordinator.search_ranges()
returns integer language sql immutable as $$ select 28 $$;
