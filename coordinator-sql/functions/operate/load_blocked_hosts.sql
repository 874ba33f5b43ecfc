-- A transaction may commit later than its time, so each call should start some minutes before
-- the previous one.
create or replace function coordinator.load_blocked_hosts(p_after timestamptz)
returns table (kind text, pattern text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select b.kind, b.pattern from blocklist b
     where b.kind in ('hostname', 'suffix') and b.added_at > p_after;
$$;
