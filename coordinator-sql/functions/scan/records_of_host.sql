-- Returns the archived icons in a host's own tab, even if another host served them, and those
-- that it served for other hosts' tabs. A row without an offset means that the shard may
-- contain the host's name.
create or replace function coordinator.records_of_host(p_scan integer, p_hostname text)
returns table (shard integer, lease_number integer, archive_offset bigint, shared boolean)
language sql stable security definer set search_path = everytab, pg_temp as $$
    with own_pages as materialized (
        select distinct p.shard, p.host_no from pages p
         where p.scan = p_scan and p.hostname = p_hostname),
    own as materialized (
        select i.shard, i.lease_number, i.archive_offset, i.host_no, i.candidate_no from icons i
         where i.scan = p_scan
           and (coordinator.host_of_url(i.url) = p_hostname
                or (i.shard, i.host_no) in (select o.shard, o.host_no from own_pages o)))
    select r.shard, r.lease_number, r.archive_offset,
           exists (select from icons i
                    where i.scan = p_scan and i.shard = r.shard
                      and i.lease_number = r.lease_number
                      and i.archive_offset = r.archive_offset
                      and not exists (
                          select from own o
                           where o.shard = i.shard and o.lease_number = i.lease_number
                             and o.host_no = i.host_no and o.candidate_no = i.candidate_no))
      from (select distinct o.shard, o.lease_number, o.archive_offset from own o
             where o.archive_offset is not null) r
    union all
    select o.shard, 0, null::bigint, false
      from (select p.shard from own_pages p union select i.shard from own i) o
     order by 1, 2, 3;
$$;
