-- The number of search jobs: one for each hostname range (digits, a to z, and all other first
-- characters), and one for the words of ranked hosts. `bundler` has the number of ranges.
create or replace function coordinator.search_jobs()
returns integer language sql immutable as $$ select 29 $$;
