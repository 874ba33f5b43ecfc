-- Returns the digest over the SQL files that `migrate` applied last. A worker whose own SQL
-- files have another digest refuses to work.
create or replace function coordinator.schema_digest()
returns text language sql stable security definer set search_path = everytab, pg_temp as $$
    select m.digest from migrations m order by m.applied_at desc, m.name desc limit 1;
$$;
