-- If the lease is lost, returns false and writes nothing.
create or replace function coordinator.record_hosts(
    p_job_id bigint, p_lease_number integer, p_token uuid, p_chunk integer,
    p_hosts everytab.capture_row[])
returns boolean language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    chunk record;
begin
    perform coordinator.check_chunk(p_chunk, cardinality(p_hosts));
    chunk := coordinator.begin_chunk(
        p_job_id, p_lease_number, p_token, p_chunk, 'index');
    if not chunk.held or not chunk.fresh then
        return chunk.held;
    end if;
    perform coordinator.check_warc_paths(array(select h.path from unnest(p_hosts) h));
    -- Sorted, so that two workers that insert the same new files cannot deadlock.
    insert into warc_files (path)
    select distinct named.path from unnest(p_hosts) named
     where not exists (select from warc_files known where known.path = named.path)
     order by named.path
    on conflict (path) do nothing;
    insert into hosts (scan, file, lease_number, hash, hostname, https, fetch_time, warc_file,
                       warc_offset, warc_length)
    select chunk.run, chunk.part, p_lease_number, h.hash, h.hostname, h.https, h.fetch_time,
           w.warc_file, h.warc_offset, h.warc_length
      from unnest(p_hosts) h
      join warc_files w using (path);
    return true;
end $$;
