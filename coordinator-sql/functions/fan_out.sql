-- Chooses the shards when the hosts are counted, and opens warc, icon and bundle-shard at once.
-- Counts come from job_results, and so are the same whoever did the work. With a limit the shards
-- divide the hashes up to that of the N-th host, so that exactly the N smallest are scanned. After
-- a discarded index job was retried there are more hosts: all is chosen anew, only never fewer
-- shards, whose jobs are there already.
create or replace function coordinator.fan_out(p_scan integer)
returns void language plpgsql set search_path = everytab, pg_temp as $$
declare
    the_scan scans%rowtype;
    host_count bigint;
    host_limit bigint;
    span numeric;
    per_bundle integer;
    per_shard integer;
    n integer;
begin
    select * into strict the_scan from scans where scan = p_scan;
    host_limit := (the_scan.settings ->> 'limit')::bigint;
    per_bundle := (the_scan.settings ->> 'entries_per_bundle')::integer;
    select coalesce(sum((r.stats -> 'counts' ->> 'hosts')::bigint), 0) into host_count
      from job_results r join jobs j using (job_id, lease_number)
     where r.scan = p_scan and r.kind = 'index' and j.state = 'completed';
    span := 18446744073709551615;
    if host_limit < host_count then
        select max(hash)::numeric + 9223372036854775808, count(*) into span, host_count
          from (select distinct h.hash, h.hostname
                  from hosts h
                  join jobs j on j.scan = h.scan and j.kind = 'index' and j.part = h.file
                   and j.lease_number = h.lease_number and j.state = 'completed'
                 where h.scan = p_scan order by h.hash, h.hostname limit host_limit) chosen;
    end if;
    per_shard := greatest(per_bundle, least(1200, ceil(host_count / 256.0)::integer), 1);
    n := greatest(ceil(host_count::numeric / per_shard)::integer, the_scan.shards);
    update scans
       set shards = n, hash_span = span,
           bundles_per_shard = greatest(1, round(host_count::numeric
                                                 / greatest(n, 1) / per_bundle)::integer)
     where scan = p_scan;
    update stages set outstanding = n, done = 0, discarded = 0, finished_at = null
     where scan = p_scan and kind in ('icon', 'bundle-shard');
    perform coordinator.open_stage(p_scan, 'warc', n);
    if n = 0 then
        perform coordinator.advance(p_scan, 'bundle-shard');
    end if;
end $$;
