//! Tests that no call depends on session state, so that Postgres can be used through a pooler in
//! transaction mode.

use std::{collections::BTreeSet, time::Duration};

use everytab_coordinator::{ApiCaller, ApiError, ConnectSettings, Coordinator, JobKind};
use everytab_patience::{eventually, until};

use crate::{
    session::query,
    setup::{Database, until_someone_waits},
};

/// SQL with effects that outlive its transaction and would reach a pooler's other clients.
const OF_A_SESSION: [&str; 13] = [
    "listen ",
    "notify ",
    "pg_notify",
    "pg_advisory_lock",
    "pg_try_advisory_lock",
    "pg_advisory_unlock",
    "temporary table",
    "temp table",
    "on commit",
    "declare cursor",
    "prepare ",
    "discard ",
    "lastval(",
];

#[tokio::test]
async fn no_function_uses_session_state() {
    let database = Database::new().await;
    let functions: Vec<(String, String)> = query(
        "select p.proname::text, pg_get_functiondef(p.oid) from pg_proc p
          where p.pronamespace = 'coordinator'::regnamespace and p.prokind = 'f'",
    )
    .rows(&database.pool)
    .await;
    assert!(functions.len() > 40, "{}", functions.len());
    for (name, text) in functions {
        let code: String = text
            .lines()
            .map(|line| line.split("--").next().unwrap_or_default().to_lowercase() + "\n")
            .collect();
        for word in OF_A_SESSION {
            assert!(!code.contains(word), "{name} contains {word:?}");
        }
        // Settings of a function or a transaction are allowed, because they end with it.
        let body = code.split("as $function$").nth(1).unwrap_or_default();
        let sets = body.lines().map(str::trim).any(|line| {
            line.starts_with("set ") && !line.starts_with("set local ") && line.contains(" to ")
        });
        assert!(!sets, "{name} changes a setting of its session");
        assert!(!body.contains("set_config(") || body.contains(", true)"), "{name}");
    }
}

#[tokio::test]
async fn calls_leave_no_locks_or_transactions_in_their_sessions() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    database.work().await;
    database.worker.load_scan(scan).await.unwrap();
    database.worker.run_outcomes(scan).await.unwrap();
    let held: i64 = database
        .value(
            "select count(*) from pg_locks l join pg_stat_activity a using (pid)
              where a.datname = current_database() and l.locktype = 'advisory' and $1 = 0",
            0,
        )
        .await;
    assert_eq!(held, 0);
    let open: i64 = database
        .value(
            "select count(*) from pg_stat_activity
              where datname = current_database() and state like 'idle in transaction%' and $1 = 0",
            0,
        )
        .await;
    assert_eq!(open, 0);
}

#[tokio::test]
async fn a_call_that_gets_no_connection_reports_that_all_are_in_use() {
    let database = Database::new().await;
    let settings = ConnectSettings {
        max_connections: 1,
        acquire_timeout: Duration::from_millis(100),
        ..ConnectSettings::default()
    };
    // A busy server may need more than 100 ms to start a session.
    let worker = eventually("a session", async || {
        let connected = Coordinator::connect(&database.worker_url, &settings).await;
        connected.inspect_err(|error| assert!(error.is_transient(), "{error}")).ok()
    })
    .await;
    let lock = database.session().await;
    lock.run("begin; lock table everytab.runs in access exclusive mode").await;
    let first = worker.clone();
    let waiting = tokio::spawn(async move { first.progress(&JobKind::OF_SCANS).await });
    until_someone_waits(&database).await;
    let error = worker.server_version().await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    let text = error.to_string();
    assert!(text.contains("all 1 connections of this process were busy for 0.1 s"), "{text}");
    lock.run("rollback").await;
    waiting.await.unwrap().unwrap();
}

async fn sessions_of(database: &Database, role: &str) -> BTreeSet<i32> {
    let sql = "select pid from pg_stat_activity
                where datname = current_database() and usename = $1";
    let pids: Vec<i32> = query(sql).bind(role.to_owned()).column(&database.pool).await;
    pids.into_iter().collect()
}

async fn with_two_sessions(database: &Database) -> (Coordinator, BTreeSet<i32>) {
    let settings = ConnectSettings { max_connections: 2, ..ConnectSettings::default() };
    let url = database.worker_url.replace("everytab_worker", "everytab_api");
    let client = Coordinator::connect(&url, &settings).await.unwrap();
    let lock = database.session().await;
    lock.run("begin; lock table everytab.api_keys in access exclusive mode").await;
    let calls = [(); 2].map(|()| {
        let client = client.clone();
        tokio::spawn(async move { client.api_admit(&nobody()).await })
    });
    until("two calls that wait", async || {
        let sql = "select count(*) from pg_stat_activity where datname = current_database()
                      and usename = 'everytab_api' and wait_event_type = 'Lock' and $1 = 0";
        database.value::<i64>(sql, 0).await == 2
    })
    .await;
    lock.run("rollback").await;
    for call in calls {
        assert!(matches!(call.await.unwrap(), Err(ApiError::Refused(_))));
    }
    let sessions = sessions_of(database, "everytab_api").await;
    assert_eq!(sessions.len(), 2);
    (client, sessions)
}

fn nobody() -> ApiCaller {
    ApiCaller { key: "a".repeat(12), secret_sha256: [0; 32] }
}

#[tokio::test]
async fn a_rejected_call_keeps_its_connection() {
    let database = Database::new().await;
    let (client, sessions) = with_two_sessions(&database).await;
    for _ in 0..50 {
        let refused = client.api_admit(&nobody()).await;
        assert!(matches!(refused, Err(ApiError::Refused(_))), "{refused:?}");
    }
    assert_eq!(sessions_of(&database, "everytab_api").await, sessions);
}

#[tokio::test]
async fn a_cancelled_call_closes_only_its_own_connection() {
    let database = Database::new().await;
    let (client, sessions) = with_two_sessions(&database).await;
    let lock = database.session().await;
    lock.run("begin; lock table everytab.api_keys in access exclusive mode").await;
    let call = {
        let client = client.clone();
        tokio::spawn(async move { client.api_admit(&nobody()).await.is_ok() })
    };
    until_someone_waits(&database).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    lock.run("rollback").await;
    until("the end of its session", async || {
        let now = sessions_of(&database, "everytab_api").await;
        now.len() == 1 && now.is_subset(&sessions)
    })
    .await;
    let left = sessions_of(&database, "everytab_api").await;
    client.server_version().await.unwrap();
    assert_eq!(sessions_of(&database, "everytab_api").await, left);
}

#[tokio::test]
async fn all_connections_are_closed_if_the_server_becomes_read_only() {
    let database = Database::new().await;
    let (client, sessions) = with_two_sessions(&database).await;
    database
        .run(
            "create or replace function coordinator.schema_digest() returns text
             language plpgsql as $$ begin
                 raise exception 'cannot execute in a read-only transaction'
                     using errcode = '25006';
             end $$",
        )
        .await;
    assert!(client.check_schema().await.unwrap_err().is_transient());
    until("the end of all sessions", async || {
        sessions_of(&database, "everytab_api").await.is_empty()
    })
    .await;
    client.server_version().await.unwrap();
    assert!(sessions_of(&database, "everytab_api").await.is_disjoint(&sessions));
}
