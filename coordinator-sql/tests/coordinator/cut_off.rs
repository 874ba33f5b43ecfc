//! Tests a network that drops bytes silently: every call must return, its locks must be released,
//! and the next call must succeed.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use everytab_coordinator::{Completion, ConnectSettings, Coordinator, JobKind, LeaseCursors};
use everytab_patience::until;
use everytab_postgres::shared_for_tests;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
};

use crate::setup::{Database, WORKER_ID, digests, no_counts, output_of, soon};

type Fatal = Arc<Mutex<Option<&'static str>>>;

/// A connection that this proxy cuts off remains open but passes no bytes, as if a router had
/// forgotten it.
struct Wire {
    url: String,
    fatal: Fatal,
}

impl Wire {
    async fn before(database: &Database) -> Self {
        let socket = shared_for_tests().socket();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!(
            "postgres://everytab_worker@127.0.0.1:{port}/{}?sslmode=disable",
            database.name
        );
        let wire = Self { url, fatal: Arc::default() };
        let (swallowed, made) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let fatal = Arc::clone(&wire.fatal);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = made.fetch_add(1, Ordering::SeqCst);
                let server = UnixStream::connect(&socket).await.unwrap();
                let marks = (Arc::clone(&swallowed), Arc::clone(&made), Arc::clone(&fatal));
                tokio::spawn(pass(client, server, number, marks));
            }
        });
        wire
    }

    fn swallow_at(&self, text: &'static str) {
        *self.fatal.lock().unwrap() = Some(text);
    }

    async fn connect(&self) -> Coordinator {
        let settings = ConnectSettings {
            max_connections: 1,
            call_time: Duration::from_secs(2),
            renewal_time: Duration::from_secs(2),
            ..ConnectSettings::default()
        };
        Coordinator::connect(&self.url, &settings).await.unwrap()
    }
}

async fn pass(
    client: TcpStream,
    server: UnixStream,
    number: u64,
    (swallowed, made, fatal): (Arc<AtomicU64>, Arc<AtomicU64>, Fatal),
) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let is_dead = {
        let swallowed = Arc::clone(&swallowed);
        move || number < swallowed.load(Ordering::SeqCst)
    };
    let answers = {
        let is_dead = is_dead.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(got @ 1..) = from_server.read(&mut buffer).await {
                if !is_dead() && to_client.write_all(&buffer[..got]).await.is_err() {
                    break;
                }
            }
        })
    };
    let mut buffer = vec![0; 1 << 20];
    while let Ok(got @ 1..) = from_client.read(&mut buffer).await {
        let holds = |text: &str| buffer[..got].windows(text.len()).any(|w| w == text.as_bytes());
        if fatal.lock().unwrap().take_if(|text| holds(text)).is_some() {
            swallowed.store(made.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        if !is_dead() && to_server.write_all(&buffer[..got]).await.is_err() {
            break;
        }
    }
    if is_dead() {
        // Keep the connection open, so that the server is not notified.
        std::future::pending::<()>().await;
    }
    answers.abort();
}

#[tokio::test]
async fn a_swallowed_call_fails_as_transient_and_the_next_one_succeeds() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    let wire = Wire::before(&database).await;
    let worker = wire.connect().await;
    // A pool of one connection would be exhausted if the first call did not return its connection.
    for _ in 0..2 {
        wire.swallow_at("run_progress");
        let error = worker.progress(&JobKind::OF_SCANS).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        worker.progress(&JobKind::OF_SCANS).await.unwrap();
        wire.swallow_at("coordinator.renew");
        let error = worker.renew(WORKER_ID, &[]).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        worker.renew(WORKER_ID, &[]).await.unwrap();
    }
    for step in ["begin", "load_scan", "commit"] {
        wire.swallow_at(step);
        worker.load_scan(scan).await.unwrap();
        assert_eq!(*wire.fatal.lock().unwrap(), None, "no message was swallowed");
    }
}

#[tokio::test]
async fn a_load_is_repeated_if_its_session_ends() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    for _ in 0..5 {
        database.worker.load_scan(scan).await.unwrap();
        let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                    where datname = current_database() and usename = 'everytab_worker' and $1 = 0";
        assert!(database.value::<i64>(end, 0).await > 0);
    }
    database.worker.load_scan(scan).await.unwrap();
}

#[tokio::test]
async fn a_worker_that_vanishes_during_a_completion_loses_its_locks() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    let wire = Wire::before(&database).await;
    let cut_off = wire.connect().await;
    let mut leases = cut_off
        .lease("cut off", &[JobKind::Index], 1, &digests(), &LeaseCursors::default())
        .await
        .unwrap();
    let lease = leases.pop().unwrap();
    let output = output_of(&lease);
    wire.swallow_at("coordinator.complete");
    let rows = output.clone();
    let completing = tokio::spawn(async move {
        let until = Instant::now() + Duration::from_millis(1);
        cut_off.complete(lease, &rows, &no_counts(), until).await
    });
    let sql = "select count(*) from pg_stat_activity
                where datname = current_database() and state = 'idle in transaction' and $1 = 0";
    until("a silent session", async || database.value::<i64>(sql, 0).await > 0).await;
    // Revoking needs the lock on the job's row, which Postgres releases when it ends the silent
    // client's transaction.
    assert_eq!(database.owner.revoke_leases(Some(scan), "test").await.unwrap(), 1);
    let next = database.lease_one(JobKind::Index).await;
    let completion = database.worker.complete(next, &output, &no_counts(), soon()).await.unwrap();
    assert_eq!(completion, Completion::Recorded);
    let error = completing.await.unwrap().unwrap_err();
    assert!(error.is_transient(), "{error}");
    let hosts = "select count(*) from everytab.hosts where scan = $1";
    assert_eq!(
        database.value::<i64>(hosts, scan).await,
        1,
        "the unfinished completion's rows were kept"
    );
}
