-- If the lease is lost, returns false and writes nothing.
create or replace function coordinator.record_bundles(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_chunk integer,
    p_first_bundle integer, p_bundles integer, p_tabs integer, p_with_icon integer,
    p_bytes bigint, p_digest bytea)
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    chunk record;
begin
    chunk := coordinator.begin_chunk(
        p_job_id, p_lease_number, p_token, p_chunk, 'bundle-shard');
    if not chunk.held or not chunk.fresh then
        return chunk.held;
    end if;
    insert into bundles (scan, shard, lease_number, first_bundle, bundles, tabs, with_icon, bytes,
                         digest)
    values (chunk.run, chunk.part, p_lease_number, p_first_bundle, p_bundles, p_tabs, p_with_icon,
            p_bytes, p_digest);
    return true;
end $$;
