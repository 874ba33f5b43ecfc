-- A pattern from an imported list becomes the operator's.
create or replace function coordinator.block(p_kind text, p_pattern text, p_reason text)
returns void language sql security definer set search_path = everytab, pg_temp as $$
    insert into blocklist (kind, pattern, reason) values (p_kind, p_pattern, p_reason)
    on conflict (kind, pattern) do update
       set reason = coalesce(excluded.reason, blocklist.reason), list = null;
$$;
