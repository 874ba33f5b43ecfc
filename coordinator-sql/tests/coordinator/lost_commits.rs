//! Tests the promotion of an asynchronous standby that lacks the last commits. A job's next lease
//! then has the same number as the lost lease, so only the token distinguishes the two.

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
async fn after_a_failover_only_the_token_fences_off_the_lost_lease() {
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
    assert_eq!(
        current.fence.lease_number, lost.fence.lease_number,
        "both leases have the same number"
    );
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
    let archives = database.owner.referenced_archives(scan).await.unwrap();
    assert_eq!(archives.iter().map(|of| of.token).collect::<Vec<_>>(), [token]);
    let hosts = worker.load_bundle_shard(scan, 0).await.unwrap();
    assert_eq!(hosts[0].archive_token, Some(token));
    assert_eq!(hosts[0].archive_offsets, [0]);
    drop(database);
    server.erase().unwrap();
}

#[tokio::test]
async fn slot_leases_end_with_a_failover_and_their_holders_cannot_record() {
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
    // Some of these checkpoint numbers are valid, but the holder's cursors contain transaction IDs
    // that this server will assign again.
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
