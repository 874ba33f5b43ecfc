create or replace function coordinator.load_scan(p_scan integer)
returns table (scan_id uuid, crawl text, settings jsonb, shards integer, bundles_per_shard integer,
               started_at timestamptz)
language sql stable security definer set search_path = everytab, pg_temp as $$
    select s.scan_id, s.crawl, s.settings, s.shards, s.bundles_per_shard, r.started_at
      from scans s join runs r on r.run = s.scan where s.scan = p_scan;
$$;
