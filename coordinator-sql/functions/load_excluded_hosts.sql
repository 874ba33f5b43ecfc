-- The hosts of some shards whose pages were read and that have been excluded since the scan
-- started: none of them may have a tab. A caller goes through the shards in portions, for a scan
-- may have millions of pages.
create or replace function coordinator.load_excluded_hosts(
    p_scan integer, p_first_shard integer, p_last_shard integer)
returns table (shard integer, hostname text)
language plpgsql stable security definer set search_path = everytab, pg_temp as $$
#variable_conflict use_column
begin
    if not exists (select from scan_exclusions e
                    where e.scan = p_scan and e.kind in ('hostname', 'suffix')) then
        return;
    end if;
    return query
    select p.shard, p.hostname
      from pages p
      join jobs j on j.run = p_scan and j.kind = 'warc' and j.part = p.shard
       and j.state = 'completed' and j.lease_number = p.lease_number
     where p.scan = p_scan and p.shard between p_first_shard and p_last_shard
       and coordinator.host_excluded(p_scan, p.hostname)
     order by p.shard, p.hostname collate "C";
end $$;
