-- p_hash is as stored, with the sign bit flipped. Null if the hosts are not counted yet, or if
-- the scan's limit excludes this hash.
create or replace function coordinator.find_host_job(
    p_scan integer, p_kind everytab.job_kind, p_hash bigint)
returns bigint
language sql stable security definer set search_path = everytab, pg_temp as $$
    select j.job_id
      from scans s
     cross join lateral generate_series(0, s.shards - 1) k (shard)
     cross join lateral coordinator.shard_bounds(p_scan, k.shard) b
      join jobs j on j.run = p_scan and j.kind = p_kind and j.part = k.shard
     where s.scan = p_scan and p_hash between b.lowest and b.highest;
$$;
