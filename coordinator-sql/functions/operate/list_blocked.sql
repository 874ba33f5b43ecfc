-- Returns the patterns that operators added to the blocklist, sorted by kind and pattern.
-- Imported lists have a million patterns; imported_lists counts them.
create or replace function coordinator.list_blocked()
returns table (kind text, pattern text, reason text, added_at timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select b.kind, b.pattern, b.reason, b.added_at from blocklist b
     where b.list is null order by 1, 2;
$$;
