-- Appends a chunk with an icon job's icons. Returns false if the lease is lost, and then
-- nothing was written.
create or replace function coordinator.record_icons(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_chunk integer,
    p_host_nos integer[], p_candidate_nos smallint[], p_touch boolean[], p_widths integer[],
    p_heights integer[], p_bytes integer[], p_archive_offsets bigint[],
    p_archive_lengths bigint[], p_sha256 bytea[], p_outcomes text[], p_content_types text[],
    p_urls text[])
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    chunk record;
begin
    perform coordinator.check_chunk(p_chunk, cardinality(p_host_nos));
    chunk := coordinator.begin_chunk(
        p_job_id, p_lease_number, p_token, p_chunk, 'icon');
    if not chunk.held or not chunk.fresh then
        return chunk.held;
    end if;
    insert into icons (scan, shard, lease_number, host_no, candidate_no, touch, width, height,
                       bytes, archive_offset, archive_length, sha256, outcome, content_type, url)
    select chunk.run, chunk.part, p_lease_number, i.*
      from unnest(p_host_nos, p_candidate_nos, p_touch, p_widths, p_heights, p_bytes,
                  p_archive_offsets, p_archive_lengths, p_sha256, p_outcomes, p_content_types,
                  p_urls) as i;
    return true;
end $$;
