-- Chooses one capture per hostname: https first, then the newest fetch_time, then WARC file
-- name, then offset. host_no is the host's position in the shard, starting at 0.
create or replace function coordinator.load_warc(p_scan integer, p_shard integer)
returns table (host_no integer, hostname text, https boolean, warc_path text, warc_offset bigint,
               warc_length bigint, blocked boolean, duplicates integer)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    bounds record;
    any_blocked boolean;
begin
    select * into bounds from coordinator.shard_bounds(p_scan, p_shard);
    select exists (select from scan_blocklist b where b.scan = p_scan and b.kind <> 'title')
        or exists (select from scan_exclusions e where e.scan = p_scan)
      into any_blocked;
    return query
    with chosen as (
        select distinct on (h.hash, h.hostname collate "C")
               h.hash, h.hostname, h.https, w.path, h.warc_offset, h.warc_length,
               count(*) over (partition by h.hash, h.hostname collate "C") as captures
          from hosts h
          join jobs j on j.run = p_scan and j.kind = 'index' and j.part = h.file
           and j.lease_number = h.lease_number and j.state = 'completed'
          join warc_files w using (warc_file)
         where h.scan = p_scan and h.hash between bounds.lowest and bounds.highest
         order by h.hash, h.hostname collate "C", h.https desc, h.fetch_time desc,
                  w.path collate "C", h.warc_offset)
    select (row_number() over (order by c.hash, c.hostname collate "C") - 1)::integer, c.hostname,
           c.https, c.path, c.warc_offset, c.warc_length,
           any_blocked and coordinator.host_blocked(p_scan, c.hostname),
           (c.captures - 1)::integer
      from chosen c order by 1;
end $$;
