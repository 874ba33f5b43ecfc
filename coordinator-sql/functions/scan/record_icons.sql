-- If the lease is lost, returns false and writes nothing.
create or replace function coordinator.record_icons(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_chunk integer,
    p_icons everytab.icon_row[])
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    chunk record;
begin
    perform coordinator.check_chunk(p_chunk, cardinality(p_icons));
    chunk := coordinator.begin_chunk(
        p_job_id, p_lease_number, p_token, p_chunk, 'icon');
    if not chunk.held or not chunk.fresh then
        return chunk.held;
    end if;
    insert into icons (scan, shard, lease_number, host_no, candidate_no, touch, width, height,
                       bytes, archive_offset, archive_length, sha256, outcome, content_type, url)
    select chunk.run, chunk.part, p_lease_number, i.host_no, i.candidate_no, i.touch, i.width,
           i.height, i.bytes, i.archive_offset, i.archive_length, i.sha256, i.outcome,
           i.content_type, i.url
      from unnest(p_icons) i;
    return true;
end $$;
