-- Returns how many search jobs there are: one for each hostname range (digits, a to z, and all
-- other first characters), and one for ranked hosts' words. `bundler` has the range count.
create or replace function coordinator.search_jobs()
returns integer language sql immutable as $$ select 29 $$;
