//! Tests named statements. Through a pooler in transaction mode, statements must be unnamed,
//! because a name may belong to another client's statement. In a direct session, each statement is
//! prepared under its own name.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use everytab_coordinator::{
    ConnectSettings, Coordinator, Digests, JobKind, LeaseCursors, Progress,
};
use everytab_postgres::{Pooler, shared_for_tests};
use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixStream},
};
use uuid::Uuid;

use crate::setup::{Database, digests, no_counts, settings, soon};

const SESSIONS: usize = 3;
const CLIENTS: usize = 8;
const ROUNDS: usize = 12;
const CALLS: usize = 12;

const OTHER_RESULT: &str = "
    do $$ declare digest text := coordinator.schema_digest(); begin
        drop function coordinator.schema_digest();
        execute format('create function coordinator.schema_digest() returns varchar
                        language sql as %L', format('select %L::varchar', digest));
        grant execute on function coordinator.schema_digest() to everytab_worker;
    end $$";

/// Replaces a function by one that resets its session, as a proxy between client and server may do.
const RESETS_SESSION: &str = "
    do $$ declare digest text := coordinator.schema_digest(); begin
        execute format('create or replace function coordinator.schema_digest() returns text
                        language plpgsql as %L',
            format('begin execute ''deallocate all''; return %L; end', digest));
    end $$";
/// The parameter in a startup message that the test's proxy rejects, as RDS Proxy does.
const OPTIONS: &[u8] = b"\0options\0";

struct Facts {
    database: Database,
    scans: Vec<(i32, Uuid)>,
    version: i32,
}

impl Facts {
    async fn new() -> Self {
        let database = Database::new().await;
        let mut scans = Vec::new();
        for files in 1..=4 {
            let scan = database.start(files).await;
            scans.push((scan, database.worker.load_scan(scan).await.unwrap().scan_id));
        }
        let version = database.owner.server_version().await.unwrap();
        Self { database, scans, version }
    }

    async fn check(&self, client: &Coordinator, call: usize, number: usize) {
        let (scan, id) = self.scans[number % self.scans.len()];
        let scans = JobKind::OF_SCANS;
        match call {
            0 => assert_eq!(client.server_version().await.unwrap(), self.version),
            1 => assert_eq!(client.encoding().await.unwrap(), "UTF8"),
            2 => assert_eq!(client.default_isolation().await.unwrap(), "read committed"),
            3 => assert!(!client.may_migrate().await.unwrap()),
            4 => assert!(!client.may_serve().await.unwrap()),
            5 => client.check_schema().await.unwrap(),
            6 => assert_eq!(client.load_scan(scan).await.unwrap().scan_id, id),
            7 => assert_eq!(client.load_index(scan, 0).await.unwrap().path, "file-0.parquet"),
            8 => assert_eq!(client.progress(&scans).await.unwrap(), Progress::Running),
            9 => assert_eq!(client.load_suspects(-1).await.unwrap(), []),
            10 => {
                let other = Digests { encoder: "another".into() };
                let withheld = client.withheld_runs(&other).await.unwrap();
                assert_eq!(withheld.len(), self.scans.len());
            }
            _ => assert!(client.renew("nobody", &[]).await.unwrap().held.is_empty()),
        }
    }

    async fn check_all(&self, url: &str) {
        let settings = ConnectSettings { max_connections: 2, ..settings() };
        let clients = (0..CLIENTS).map(|_| Coordinator::connect(url, &settings));
        let clients: Vec<Coordinator> =
            join_all(clients).await.into_iter().map(Result::unwrap).collect();
        join_all(clients.iter().enumerate().map(async |(number, client)| {
            for turn in 0..ROUNDS * CALLS {
                self.check(client, (turn * (number + 1) + number) % CALLS, turn).await;
            }
        }))
        .await;
        let mut jobs = BTreeSet::new();
        let leases = clients.iter().enumerate().map(async |(number, client)| {
            let worker = number.to_string();
            let cursors = LeaseCursors::default();
            client.lease(&worker, &[JobKind::Index], 1, &digests(), &cursors).await.unwrap()
        });
        for lease in join_all(leases).await.into_iter().flatten() {
            assert!(jobs.insert(lease.fence.job_id), "a job was leased twice");
            let output = everytab_coordinator::Output::Hosts(Vec::new());
            let completed = clients[0].complete(lease, &output, &no_counts(), soon()).await;
            assert_eq!(completed.unwrap(), everytab_coordinator::Completion::Recorded);
        }
        assert_eq!(jobs.len(), CLIENTS);
    }
}

async fn every_call_gets_its_own_result(pooler_settings: &str) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("pooler");
    let pooler = Pooler::start(&folder, "everytab_worker", SESSIONS, pooler_settings);
    let Some(pooler) = pooler else { return };
    let facts = Facts::new().await;
    let url = pooler.url(&facts.database.name);
    facts.check_all(&url).await;
    let worker = Coordinator::connect(&url, &settings()).await.unwrap();
    for _ in 0..SESSIONS * 3 {
        worker.check_schema().await.unwrap();
    }
    // An unnamed statement is prepared for each call, so the replaced function does no harm.
    facts.database.run(OTHER_RESULT).await;
    worker.check_schema().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_a_pooler_every_call_gets_its_own_result() {
    every_call_gets_its_own_result("").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_a_pooler_that_drops_settings_every_call_gets_its_own_result() {
    let ignored = "ignore_startup_parameters = options,extra_float_digits";
    every_call_gets_its_own_result(ignored).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_direct_sessions_every_call_gets_its_own_result() {
    let facts = Facts::new().await;
    facts.check_all(&facts.database.worker_url).await;
}

#[tokio::test]
async fn a_direct_session_prepares_statements_until_a_migration_replaces_their_function() {
    let database = Database::new().await;
    for _ in 0..3 {
        database.worker.check_schema().await.unwrap();
    }
    database.run(OTHER_RESULT).await;
    let error = database.worker.check_schema().await.unwrap_err();
    assert_eq!(error.sqlstate(), Some("0A000"), "the statement was not prepared");
    assert!(error.is_transient());
    database.worker.check_schema().await.unwrap();
}

#[tokio::test]
async fn after_a_session_reset_one_call_fails_as_transient() {
    let database = Database::new().await;
    for _ in 0..3 {
        database.worker.check_schema().await.unwrap();
    }
    database.run(RESETS_SESSION).await;
    database.worker.check_schema().await.unwrap();
    let error = database.worker.check_schema().await.unwrap_err();
    assert_eq!(error.sqlstate(), Some("26000"), "the statement was not prepared");
    assert!(error.is_transient());
    database.worker.check_schema().await.unwrap();
}

async fn pass_without_options(mut client: TcpStream, refused: Arc<AtomicU32>) {
    let mut start = vec![0; 16 << 10];
    let length = client.read(&mut start).await.unwrap();
    if start[..length].windows(OPTIONS.len()).any(|bytes| bytes == OPTIONS) {
        refused.fetch_add(1, Ordering::SeqCst);
        let fields = b"SFATAL\0VFATAL\0C0A000\0MFeature not supported: command-line options\0\0";
        let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
        client.write_all(&[b"E", &length[..], fields].concat()).await.unwrap();
        return;
    }
    let mut server = UnixStream::connect(shared_for_tests().socket()).await.unwrap();
    server.write_all(&start[..length]).await.unwrap();
    drop(copy_bidirectional(&mut client, &mut server).await);
}

#[tokio::test]
async fn through_a_proxy_that_rejects_options_statements_are_unnamed() {
    let database = Database::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let refused = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&refused);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass_without_options(client, Arc::clone(&counter)));
        }
    });
    let name = &database.name;
    let url = format!("postgres://everytab_worker@127.0.0.1:{port}/{name}?sslmode=disable");
    let client = Coordinator::connect(&url, &settings()).await.unwrap();
    for _ in 0..3 {
        client.check_schema().await.unwrap();
    }
    database.run(OTHER_RESULT).await;
    client.check_schema().await.unwrap();
    assert_eq!(refused.load(Ordering::SeqCst), 1);
}
