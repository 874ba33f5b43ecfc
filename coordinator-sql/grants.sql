-- The workers' roles can only execute the functions that a worker needs, and cannot access
-- tables. everytab_api can execute schema_digest and the functions listed below in schema api.
-- All other functions are only for the owner. everytab_worker is a member of the other workers'
-- roles.
revoke all on schema everytab from public;
revoke all on all tables in schema everytab from public;
-- Replaced functions keep their grants, and an older version may have granted more to our
-- roles.
revoke all on all functions in schema coordinator, api
    from public, everytab_worker, everytab_worker_crawl, everytab_worker_icons,
         everytab_worker_site, everytab_api;
-- Otherwise a worker could fill the server's disk with a temporary table. Only the database's
-- owner can revoke this. Large objects could also fill the disk, but only a superuser can
-- revoke their functions.
do $$ begin
    execute format('revoke temporary on database %I from public', current_database());
    if (select rolsuper from pg_roles where rolname = current_user) then
        revoke execute on function lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea)
            from public;
    end if;
end $$;
grant usage on schema coordinator
    to everytab_worker, everytab_worker_crawl, everytab_worker_icons, everytab_worker_site;
grant execute on function
    coordinator.schema_digest, coordinator.lease, coordinator.renew, coordinator.complete,
    coordinator.retry, coordinator.discard, coordinator.release, coordinator.sweep,
    coordinator.checkpoint_item, coordinator.load_suspects, coordinator.load_scan,
    coordinator.run_progress, coordinator.scan_number, coordinator.scan_status,
    coordinator.earlier_outcomes,
    coordinator.list_scans, coordinator.audit_run, coordinator.job_history,
    coordinator.withheld_runs, coordinator.run_outcomes
    to everytab_worker, everytab_worker_crawl, everytab_worker_icons, everytab_worker_site;
grant execute on function
    coordinator.load_index, coordinator.record_hosts, coordinator.load_warc,
    coordinator.record_pages
    to everytab_worker_crawl;
grant execute on function
    coordinator.load_icon, coordinator.load_blocklist, coordinator.record_icons,
    coordinator.load_exclusions
    to everytab_worker_icons;
grant execute on function
    coordinator.load_bundle_shard, coordinator.load_title_patterns, coordinator.record_bundles,
    coordinator.bundled_shards, coordinator.load_later_blocks, coordinator.most_tabs
    to everytab_worker_site;
grant execute on function
    coordinator.lease_slots, coordinator.renew_slots, coordinator.release_slots,
    coordinator.open_crawls, coordinator.crawl_settings, coordinator.read_links,
    coordinator.load_blocked_hosts, coordinator.load_due_hosts, coordinator.load_host_chunks,
    coordinator.load_site_hosts, coordinator.load_slot_sums, coordinator.reserve_pages,
    coordinator.checkpoint_slot, coordinator.frontier_health, coordinator.load_robots_overrides,
    coordinator.drop_read_links, coordinator.drop_ended_frontier,
    coordinator.load_crawl_run, coordinator.open_index_rows, coordinator.load_index_rows,
    coordinator.crawl_archives, coordinator.earlier_crawl, coordinator.earlier_fetches,
    coordinator.lease_webhooks, coordinator.record_webhook, coordinator.webhook_backlog
    to everytab_worker;
-- Each function of schema api checks the client's key.
grant usage on schema api, coordinator to everytab_api;
grant execute on function
    coordinator.schema_digest, api.admit, api.admit_captures, api.admit_named, api.own_key,
    api.key_ports, api.submit, api.submit_named, api.valid_keys, api.add_links,
    api.start_crawl,
    api.crawls, api.crawl_states, api.move_crawl, api.crawl_hosts, api.change_patterns,
    api.failed_urls, api.add_failed, api.fetch_state,
    api.fetch_states, api.find_capture, api.feed, api.feed_news, api.feed_tail, api.overview,
    api.add_filter,
    api.change_filter, api.filters, api.remove_filter, api.filter_lists, api.set_rate,
    api.add_robots, api.list_robots, api.drop_robots, api.add_schedule, api.list_schedules,
    api.drop_schedule, api.search, api.add_webhook, api.list_webhooks, api.change_webhook,
    api.rotate_webhook, api.test_webhook, api.drop_webhook
    to everytab_api;
