-- Hashes are as stored, with the sign bit flipped. If there are more shards than hashes, some
-- shards are empty, and then the lowest hash is above the highest.
create or replace function coordinator.shard_bounds(
    p_scan integer, p_shard integer, out lowest bigint, out highest bigint)
language sql stable set search_path = everytab, pg_temp as $$
    select case when first > last then 1 else first - 9223372036854775808 end::bigint,
           case when first > last then 0 else last - 9223372036854775808 end::bigint
      from (select div(p_shard * (s.hash_span + 1), s.shards) as first,
                   div((p_shard + 1) * (s.hash_span + 1), s.shards) - 1 as last
              from scans s where s.scan = p_scan) unsigned;
$$;
