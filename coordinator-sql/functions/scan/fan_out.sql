-- With a limit of N hosts, the shards divide the hashes up to the N-th host's hash, so that
-- exactly the N hosts with the smallest hashes are scanned. If a discarded index job is
-- retried, the shards are divided again, but their number never decreases, because their jobs
-- exist.
--
-- The caller, complete, uses a generic plan. This function reads all hosts once, so it needs a
-- plan for its own values.
create or replace function coordinator.fan_out(p_scan integer)
returns void language plpgsql set search_path = everytab, pg_temp
set plan_cache_mode = auto as $$
declare
    -- A shard with 1,200 hosts has about 3,000 icons. They take minutes to fetch and are one
    -- archive object of 10 to 20 MB.
    max_hosts_per_shard constant integer := 1200;
    -- A smaller scan is still divided into this many shards with at least one bundle each, so
    -- that the fleet can work in parallel. The type is numeric, because an integer division
    -- would truncate.
    min_shards constant numeric := 256;
    -- Hashes are unsigned 64-bit numbers, stored with the sign bit flipped.
    max_hash constant numeric := 18446744073709551615;
    sign_bit constant numeric := 9223372036854775808;
    the_scan scans%rowtype;
    host_count bigint;
    host_limit bigint;
    span numeric;
    hosts_per_bundle integer;
    hosts_per_shard integer;
    shard_count integer;
begin
    select * into strict the_scan from scans where scan = p_scan;
    host_limit := (the_scan.settings ->> 'limit')::bigint;
    hosts_per_bundle := (the_scan.settings ->> 'entries_per_bundle')::integer;
    select coalesce(sum((r.stats -> 'counts' ->> 'hosts')::bigint), 0) into host_count
      from job_results r join jobs j using (job_id, lease_number)
     where r.run = p_scan and r.kind = 'index' and j.state = 'completed';
    span := max_hash;
    if host_limit < host_count then
        select max(hash)::numeric + sign_bit, count(*) into span, host_count
          from (select distinct h.hash, h.hostname
                  from hosts h
                  join jobs j on j.run = h.scan and j.kind = 'index' and j.part = h.file
                   and j.lease_number = h.lease_number and j.state = 'completed'
                 where h.scan = p_scan order by h.hash, h.hostname limit host_limit) chosen;
    end if;
    hosts_per_shard := greatest(
        hosts_per_bundle, least(max_hosts_per_shard, ceil(host_count / min_shards)::integer), 1);
    shard_count := greatest(
        ceil(host_count::numeric / hosts_per_shard)::integer, the_scan.shards);
    update scans
       set shards = shard_count, hash_span = span,
           bundles_per_shard = greatest(
               1, round(host_count::numeric / greatest(shard_count, 1) / hosts_per_bundle)::integer)
     where scan = p_scan;
    update stages set outstanding = shard_count, done = 0, discarded = 0, finished_at = null
     where run = p_scan and kind in ('icon', 'bundle-shard');
    perform coordinator.open_stage(p_scan, 'warc', shard_count);
    if shard_count = 0 then
        perform coordinator.advance(p_scan, 'bundle-shard');
    end if;
end $$;
