-- There is one job for each range of hostnames (digits, a to z, and all other first
-- characters), and one for words of ranked hosts. `bundler` uses the same number of ranges.
create or replace function coordinator.search_jobs()
returns integer language sql immutable as $$ select 29 $$;
