-- Divides the hosts into shards once they are counted, and opens the stages warc, icon and
-- bundle-shard. The counts are from job_results, so that they do not depend on which worker did
-- the work. With a limit of N hosts, the shards divide the hashes up to the N-th host's, so
-- that exactly the N smallest are scanned. After a discarded index job was retried there are
-- more hosts, and the shards are chosen again; never fewer than before, because their jobs
-- exist.
--
-- complete, which calls this, plans for any values; this reads all hosts once and plans for its
-- own.
create or replace function coordinator.fan_out(p_scan integer)
returns void language plpgsql set search_path = everytab, pg_temp
set plan_cache_mode = auto as $$
declare
    -- A shard with 1,200 hosts has about 3,000 icons: one archive object with 10 to 20 MB,
    -- minutes of fetching, and at most this much work is lost with a worker.
    max_hosts_per_shard constant integer := 1200;
    -- A smaller scan still has this many shards, with at least one bundle each, so that the
    -- fleet works in parallel. This is a numeric, because the division must not be an integer
    -- division.
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
