-- The digest of the schema that was migrated to: a worker refuses one that is not its own.
create or replace function coordinator.schema_digest()
returns text language sql stable security definer set search_path = everytab, pg_temp as $$
    select m.digest from migrations m order by m.applied_at desc, m.name desc limit 1;
$$;
