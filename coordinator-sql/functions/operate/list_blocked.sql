-- Patterns from imported lists are omitted, because there may be a million.
create or replace function coordinator.list_blocked()
returns table (kind text, pattern text, reason text, added_at timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select b.kind, b.pattern, b.reason, b.added_at from blocklist b
     where b.list is null order by 1, 2;
$$;
