-- The worker's role executes the functions that a worker needs and touches no table. Everything
-- else belongs to the owner: starting, cancelling and changing scans, and the blocklist.
revoke all on schema everytab from public;
revoke all on all tables in schema everytab from public;
revoke all on all functions in schema coordinator from public;
grant usage on schema coordinator to everytab_worker;
grant execute on function
    coordinator.schema_digest, coordinator.lease, coordinator.renew, coordinator.complete,
    coordinator.retry, coordinator.discard, coordinator.release, coordinator.sweep,
    coordinator.checkpoint_item, coordinator.load_suspects,
    coordinator.record_hosts, coordinator.record_pages, coordinator.record_icons,
    coordinator.record_bundles, coordinator.load_scan, coordinator.load_index,
    coordinator.load_warc, coordinator.load_icon, coordinator.load_blocklist,
    coordinator.load_exclusions,
    coordinator.load_bundle_shard, coordinator.bundled_shards, coordinator.run_outcomes,
    coordinator.run_progress, coordinator.scan_number, coordinator.scan_status,
    coordinator.list_scans, coordinator.audit_run, coordinator.job_history,
    coordinator.withheld_runs
    to everytab_worker;
