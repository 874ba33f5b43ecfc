-- If an icon's SHA-256 is on the blocklist, the host's next best icon is used.
--
-- Both parts of `with` are materialized, because a new or restored scan's tables lack
-- statistics, so the planner would expect one row and aggregate the shard's icons again for
-- each host. icon_order cannot be inlined, so an icon's rank is computed once.
create or replace function coordinator.load_bundle_shard(p_scan integer, p_shard integer)
returns table (host_no integer, hostname text, https boolean, frameable boolean, title text,
               blocked boolean, archive_lease_number integer, archive_token uuid,
               archive_offsets bigint[], archive_lengths bigint[])
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
declare
    warc_lease integer := coordinator.completed_lease(p_scan, 'warc', p_shard);
    icon_lease integer;
    icon_token uuid;
    any_excluded boolean;
    any_digest boolean;
begin
    select exists (select from scan_exclusions e where e.scan = p_scan),
           exists (select from scan_blocklist b where b.scan = p_scan and b.kind = 'sha256')
      into any_excluded, any_digest;
    select j.lease_number, r.token into icon_lease, icon_token
      from jobs j
      left join job_results r on r.job_id = j.job_id and r.lease_number = j.lease_number
     where j.run = p_scan and j.kind = 'icon' and j.part = p_shard and j.state = 'completed';
    return query
    with ranked as materialized (
        select o.host_no, o.url, o.archive_offset, o.archive_length,
               coordinator.icon_order(o.touch, o.content_type, o.width, o.height, o.bytes) as place
          from icons o
         where o.scan = p_scan and o.shard = p_shard and o.lease_number = icon_lease
           and o.outcome = 'ok' and o.archive_offset is not null
           and not coalesce(o.width <= 2 and o.height <= 2
                            and o.content_type is distinct from 'image/svg+xml', false)
           and not (any_digest and exists (select from scan_blocklist b
                                            where b.scan = p_scan and b.kind = 'sha256'
                                              and b.pattern = encode(o.sha256, 'hex')))),
    usable as materialized (
        select r.host_no,
               array_agg(r.archive_offset order by r.place, r.url collate "C") as offsets,
               array_agg(r.archive_length order by r.place, r.url collate "C") as lengths
          from ranked r group by r.host_no)
    select p.host_no, p.hostname, p.https, p.frameable, p.title,
           p.outcome = 'opted_out'
               or any_excluded and coordinator.host_excluded(p_scan, p.hostname),
           icon_lease, icon_token, coalesce(u.offsets, '{}'), coalesce(u.lengths, '{}')
      from pages p left join usable u on u.host_no = p.host_no
     where p.scan = p_scan and p.shard = p_shard and p.lease_number = warc_lease
     order by p.host_no;
end $$;
