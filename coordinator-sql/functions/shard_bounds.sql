-- The hashes of a shard, both ends within, as stored (sign bit flipped).
create or replace function coordinator.shard_bounds(
    p_scan integer, p_shard integer, out lowest bigint, out highest bigint)
language sql stable set search_path = everytab, pg_temp as $$
    select (div(p_shard * (s.hash_span + 1), s.shards) - 9223372036854775808)::bigint,
           (div((p_shard + 1) * (s.hash_span + 1), s.shards) - 9223372036854775809)::bigint
      from scans s where s.scan = p_scan;
$$;
