-- The hostnames and domain suffixes of the blocklist, imported lists too, that were added after a
-- time: live crawls ask nothing of these hosts. A transaction that adds some commits later than
-- its time says, so the caller asks again from some minutes before.
create or replace function coordinator.load_blocked_hosts(p_after timestamptz)
returns table (kind text, pattern text)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select b.kind, b.pattern from blocklist b
     where b.kind in ('hostname', 'suffix') and b.added_at > p_after;
$$;
