-- Returns the digest of the SQL files that `migrate` last applied.
create or replace function coordinator.schema_digest()
returns text language sql stable security definer set search_path = everytab, pg_temp as $$
    select m.digest from migrations m order by m.applied_at desc, m.name desc limit 1;
$$;
