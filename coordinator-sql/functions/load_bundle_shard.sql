-- The pages of a shard in order of host_no, each with its usable icons, the best first. A host has
-- no icons where the icon job was discarded. archive_lease_number names the shard's archive object.
-- blocked says whether the hostname is on the scan's blocklist, or was excluded from the running
-- scan; load_title_patterns has the titles. An icon whose SHA-256 is on the blocklist is not
-- usable: the host's next best one takes its place.
create or replace function coordinator.load_bundle_shard(p_scan integer, p_shard integer)
returns table (host_no integer, hostname text, https boolean, frameable boolean, title text,
               blocked boolean, archive_lease_number integer, icon_urls text[],
               archive_offsets bigint[], archive_lengths bigint[])
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    icon_lease integer;
    any_excluded boolean;
begin
    select exists (select from scan_exclusions e where e.scan = p_scan) into any_excluded;
    select j.lease_number into icon_lease from jobs j
     where j.run = p_scan and j.kind = 'icon' and j.part = p_shard and j.state = 'completed';
    return query
    with usable as (
        select i.host_no,
               array_agg(i.url order by i.place, i.url collate "C") as urls,
               array_agg(i.archive_offset order by i.place, i.url collate "C") as offsets,
               array_agg(i.archive_length order by i.place, i.url collate "C") as lengths
          from (select o.*, coordinator.icon_order(o.touch, o.content_type, o.width, o.height,
                                                   o.bytes) as place
                  from icons o
                 where o.scan = p_scan and o.shard = p_shard and o.lease_number = icon_lease
                   and o.outcome = 'ok' and o.archive_offset is not null
                   and not coalesce(o.width <= 2 and o.height <= 2
                                    and o.content_type is distinct from 'image/svg+xml', false)
                   and not exists (select from scan_blocklist b
                                    where b.scan = p_scan and b.kind = 'sha256'
                                      and b.pattern = encode(o.sha256, 'hex'))
               ) i
         group by i.host_no)
    select p.host_no, p.hostname, p.https, p.frameable, p.title,
           p.outcome = 'opted_out'
               or any_excluded and coordinator.host_excluded(p_scan, p.hostname),
           icon_lease, coalesce(u.urls, '{}'), coalesce(u.offsets, '{}'),
           coalesce(u.lengths, '{}')
      from pages p
      join jobs j on j.run = p_scan and j.kind = 'warc' and j.part = p_shard
       and j.state = 'completed' and j.lease_number = p.lease_number
      left join usable u on u.host_no = p.host_no
     where p.scan = p_scan and p.shard = p_shard
     order by p.host_no;
end $$;
