-- Where the work stands, for a worker that leaves when it is done: running while any run is running
-- or paused, otherwise the state of the newest run, and null when there was none.
create or replace function coordinator.run_progress()
returns text language sql stable security definer set search_path = everytab, pg_temp as $$
    select coalesce(
        (select 'running' from runs r where r.state in ('running', 'paused') limit 1),
        (select r.state::text from runs r order by r.run desc limit 1));
$$;
