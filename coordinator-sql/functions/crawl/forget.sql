-- Returns the number of affected captures.
create or replace function coordinator.forget(
    p_kind text, p_name text, p_host_hash bigint, p_url_hash bigint, p_slot smallint)
returns bigint language plpgsql set search_path = everytab, pg_temp as $$
declare
    forgotten_number integer;
begin
    insert into forgotten (kind, name, host_hash, url_hash, slot)
    values (p_kind, p_name, p_host_hash, p_url_hash, p_slot)
    on conflict (kind, name) do update set forgotten_at = clock_timestamp(), cleared_at = null
    returning number into forgotten_number;
    return (select count(*) from coordinator.forgotten_fetches(forgotten_number) f
             where f.archive is not null or f.body_archive is not null);
end $$;
