-- The state of the newest scan, for a worker that leaves when the work is done: null when there is
-- none, running while any scan runs or is paused.
create or replace function coordinator.scan_progress()
returns text language sql stable security definer set search_path = everytab, pg_temp as $$
    select coalesce(
        (select 'running' from scans s where s.state in ('running', 'paused') limit 1),
        (select s.state::text from scans s order by s.scan desc limit 1));
$$;
