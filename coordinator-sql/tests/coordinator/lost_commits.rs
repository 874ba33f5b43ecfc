//! A server that lost its last commits, as an asynchronous replica did that was promoted: the next
//! lease of a job gets the number of the lost one, and only the token tells them apart.

use std::{
    fs::{Permissions, set_permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

use everytab_coordinator::{Completion, Coordinator, JobKind, Lease, Output};
use everytab_postgres::{PostgresSettings, PrivatePostgres};

use crate::setup::{Database, again, icon, no_counts, page, settings, soon};

/// A lease whose commit reached the disk before the crash is not lost, so that it takes another
/// crash.
const CRASHES: usize = 5;

/// Starts a server that writes commits to the disk ten seconds later.
fn start(dir: &Path) -> PrivatePostgres {
    let extra = vec![("wal_writer_delay".to_owned(), "10s".to_owned())];
    let settings = PostgresSettings::new(dir);
    PrivatePostgres::start(PostgresSettings { durable: false, extra, ..settings }).unwrap()
}

async fn database_of(server: &PrivatePostgres) -> Database {
    let worker = server.url("postgres", "everytab_worker");
    Database::at(server.admin_url(), worker, "postgres".into()).await
}

/// Kills the server without notice, and starts it again.
fn crash(server: PrivatePostgres, dir: &Path) -> PrivatePostgres {
    let killed = Command::new("kill").args(["-9", &server.pid().to_string()]).status().unwrap();
    assert!(killed.success());
    drop(server);
    start(dir)
}

/// Leases the icon job until a crash loses the lease. Returns the lost lease.
async fn lost_lease(mut server: PrivatePostgres, dir: &Path) -> (PrivatePostgres, Database, Lease) {
    for _ in 0..CRASHES {
        let database = database_of(&server).await;
        database.expire_leases().await;
        database.owner.sweep(9).await.unwrap();
        database.end_backoffs().await;
        database.run("checkpoint").await;
        let lease = database.lease_one(JobKind::Icon).await;
        drop(database);
        server = crash(server, dir);
        let database = database_of(&server).await;
        if database.state_of_job(lease.fence.job_id).await == "pending" {
            return (server, database, lease);
        }
    }
    panic!("none of {CRASHES} crashes lost the commit of a lease");
}

#[tokio::test]
async fn the_lease_after_a_lost_one_has_its_number_and_another_token_and_fences_it_off() {
    let folder = tempfile::tempdir().unwrap();
    // The server's user must be able to enter it.
    set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let dir = folder.path().join("server");
    let server = start(&dir);
    let owner = Coordinator::connect(&server.admin_url(), &settings()).await.unwrap();
    owner.migrate().await.unwrap();
    owner.close().await;
    let database = database_of(&server).await;
    let scan = database.start_sharded(1).await;
    let warc = database.lease_one(JobKind::Warc).await;
    let pages = Output::Pages(vec![page(0, "a.example")]);
    database.worker.complete(warc, &pages, &no_counts(), soon()).await.unwrap();
    drop(database);

    let (server, database, lost) = lost_lease(server, &dir).await;
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
    // The archive that is read is that of the lease that completed the job.
    let archives = database.owner.referenced_archives(scan).await.unwrap();
    assert_eq!(archives.iter().map(|of| of.token).collect::<Vec<_>>(), [Some(token)]);
    let hosts = worker.load_bundle_shard(scan, 0).await.unwrap();
    assert_eq!(hosts[0].archive_token, Some(token));
    assert_eq!(hosts[0].archive_offsets, [0]);
    drop(database);
    server.erase().unwrap();
}
