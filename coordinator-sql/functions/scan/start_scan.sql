-- Networks that were excluded from earlier scans are excluded again, because the blocklist
-- contains no networks. p_max_captures limits the captures that are read from each file (null:
-- unlimited).
create or replace function coordinator.start_scan(
    p_scan_id uuid, p_crawl text, p_settings jsonb, p_lease_ms integer, p_digests jsonb,
    p_files text[], p_max_captures bigint[])
returns integer language plpgsql security definer set search_path = everytab, pg_temp as $$
declare
    new_scan integer;
    data_table text;
begin
    if coalesce(cardinality(p_files), 0) = 0 then
        raise exception 'crawl % has no index files', p_crawl using errcode = 'ET001';
    end if;
    new_scan := coordinator.start_run(
        'scan', p_lease_ms, p_digests, enum_range('index'::job_kind, 'publish'));
    insert into scans (scan, scan_id, crawl, settings)
    values (new_scan, p_scan_id, p_crawl, p_settings);
    insert into scan_blocklist (scan, kind, pattern, imported)
    select new_scan, b.kind, b.pattern, b.list is not null from blocklist b;
    insert into scan_exclusions (scan, version, kind, pattern)
    select new_scan, row_number() over (order by e.pattern), 'network', e.pattern
      from (select distinct pattern from scan_exclusions where kind = 'network') e;
    insert into index_files (scan, file, path, max_captures)
    select new_scan, f.ordinality - 1, f.path, f.max_captures
      from unnest(p_files, p_max_captures) with ordinality as f (path, max_captures, ordinality);
    perform coordinator.open_stage(new_scan, 'index', cardinality(p_files));
    -- Partitions are created last, because starting or dropping another scan or crawl must wait
    -- for this transaction from here on.
    foreach data_table in array array['hosts', 'pages', 'icons'] loop
        perform coordinator.make_partition(
            data_table, data_table || '_' || new_scan, format('in (%s)', new_scan));
    end loop;
    return new_scan;
end $$;
