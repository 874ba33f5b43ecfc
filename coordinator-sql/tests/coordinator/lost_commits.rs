//! Tests the promotion of an asynchronous standby that lacks the last commits. The next lease of a
//! job then gets the number of the lost lease, so only the token distinguishes the two. All slot
//! leases must end.

use std::{
    fs::{Permissions, set_permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use everytab_coordinator::{CheckpointResult, Completion, Coordinator, JobKind, Output, SlotFence};
use everytab_postgres::{PostgresSettings, PrivatePostgres};
use tempfile::TempDir;

use crate::{
    frontier::holder::checkpoint,
    setup::{Database, again, icon, no_counts, page, settings, soon},
};

fn server_settings(dir: &Path) -> PostgresSettings {
    PostgresSettings { durable: false, ..PostgresSettings::new(dir) }
}

async fn database_of(server: &PrivatePostgres) -> Database {
    let worker = server.url("postgres", "everytab_worker");
    Database::at(server.admin_url(), worker, "postgres".into()).await
}

/// Starts a server with a migrated database, in a directory that the server's user can access.
async fn migrated() -> (TempDir, PrivatePostgres, Database) {
    let folder = tempfile::tempdir().unwrap();
    set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let server = PrivatePostgres::start(server_settings(folder.path())).unwrap();
    let owner = Coordinator::connect(&server.admin_url(), &settings()).await.unwrap();
    owner.migrate().await.unwrap();
    owner.close().await;
    let database = database_of(&server).await;
    (folder, server, database)
}

#[tokio::test]
async fn the_lease_after_a_lost_one_has_its_number_and_another_token_and_fences_it_off() {
    let (folder, server, database) = migrated().await;
    let scan = database.start_sharded(1).await;
    let warc = database.lease_one(JobKind::Warc).await;
    let pages = Output::Pages(vec![page(0, "a.example")]);
    database.worker.complete(warc, &pages, &no_counts(), soon()).await.unwrap();

    let standby = server.standby().unwrap();
    let lost = database.lease_one(JobKind::Icon).await;
    drop(database);
    let server = server.fail_over(standby, server_settings(folder.path())).unwrap();
    let database = database_of(&server).await;
    assert_eq!(database.state_of_job(lost.fence.job_id).await, "pending");
    let current = database.lease_one(JobKind::Icon).await;
    assert_eq!(current.fence.job_id, lost.fence.job_id);
    assert_eq!(current.fence.lease_number, lost.fence.lease_number, "the number of the lost lease");
    assert_ne!(current.fence.token, lost.fence.token);
    let icons = || Output::Icons(vec![icon(0, 0, "https://a.example/favicon.ico")]);
    let worker = &database.worker;
    let before = database.contents().await;
    let refused = worker.complete(again(&lost), &icons(), &no_counts(), soon()).await.unwrap();
    assert_eq!(refused, Completion::Lost);
    assert_eq!(database.contents().await, before);
    let token = current.fence.token;
    let done = worker.complete(current, &icons(), &no_counts(), soon()).await.unwrap();
    assert_eq!(done, Completion::Recorded);
    let late = worker.complete(lost, &icons(), &no_counts(), soon()).await.unwrap();
    assert_eq!(late, Completion::Lost);
    // Readers use the archive whose lease completed the job.
    let archives = database.owner.referenced_archives(scan).await.unwrap();
    assert_eq!(archives.iter().map(|of| of.token).collect::<Vec<_>>(), [token]);
    let hosts = worker.load_bundle_shard(scan, 0).await.unwrap();
    assert_eq!(hosts[0].archive_token, Some(token));
    assert_eq!(hosts[0].archive_offsets, [0]);
    drop(database);
    server.erase().unwrap();
}

#[tokio::test]
async fn a_lease_of_a_slot_ends_with_the_failover_and_its_holder_records_nothing_more() {
    let (folder, server, database) = migrated().await;
    database.start_crawl(None, &[1, 2], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let fences: Vec<SlotFence> = leases.iter().map(|lease| lease.fence).collect();
    database.record_checkpoint(&checkpoint(&leases[3], 1)).await;
    let standby = server.standby().unwrap();
    database.record_checkpoint(&checkpoint(&leases[3], 2)).await;
    database.record_checkpoint(&checkpoint(&leases[4], 1)).await;
    drop(database);
    let server = server.fail_over(standby, server_settings(folder.path())).unwrap();
    let database = database_of(&server).await;
    // The new server expects some of these numbers next. It must still reject them, because the
    // holders' cursors contain transaction ids that it reuses.
    for (slot, number) in [(3, 2), (3, 3), (4, 1), (4, 2), (5, 1)] {
        let next = checkpoint(&leases[slot], number);
        let answer = database.worker.checkpoint_slot(&next).await.unwrap();
        assert!(matches!(answer, CheckpointResult::Lost), "{slot} {number}: {answer:?}");
    }
    assert!(database.worker.renew_slots("a", &fences).await.unwrap().held.is_empty());
    database.expire_slots("a").await;
    let leases = database.lease_all_slots("a").await;
    assert_eq!(leases.len(), 256);
    database.record_checkpoint(&checkpoint(&leases[3], 1)).await;
    drop(database);
    server.erase().unwrap();
}
