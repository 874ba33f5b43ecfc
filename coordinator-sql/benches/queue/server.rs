//! Runs the private, durable Postgres server that a benchmark measures, and reads its CPU time and
//! its log.

use std::{
    fs,
    process::{self, Command},
    time::{Duration, Instant},
};

use everytab_coordinator::{
    ConnectSettings, Coordinator, Digests, JobKind, LeaseCursors, NewScan, Output,
};
use everytab_postgres::{ADMIN_USER, PostgresSettings, PrivatePostgres};
use serde_json::{Value, json};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::samples;

pub(crate) fn digests() -> Digests {
    Digests { encoder: "encoder".into() }
}

/// The server's directory is next to the program file, so that it is on a disk and not in memory.
pub(crate) struct Server {
    postgres: Option<PrivatePostgres>,
}

pub(crate) struct Usage {
    at: Instant,
    processor: Duration,
    wal_bytes: i64,
    commits: i64,
}

pub(crate) struct Used {
    pub(crate) elapsed: Duration,
    pub(crate) cores: f64,
    pub(crate) wal_bytes: i64,
    pub(crate) commits: i64,
}

impl Server {
    pub(crate) fn start(extra: &[(&str, &str)]) -> Self {
        let program = std::env::current_exe().unwrap();
        let dir = program.ancestors().nth(3).unwrap().join(format!("bench-{}", process::id()));
        let mut settings = PostgresSettings::new(dir);
        settings.max_connections = 900;
        settings.extra = vec![("shared_buffers".into(), "1GB".into())];
        settings.extra.extend(extra.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        Self { postgres: Some(PrivatePostgres::start(settings).unwrap()) }
    }

    fn postgres(&self) -> &PrivatePostgres {
        self.postgres.as_ref().unwrap()
    }

    pub(crate) fn url(&self, database: &str, user: &str) -> String {
        self.postgres().url(database, user)
    }

    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        self.postgres().psql(database, sql).unwrap().trim().to_owned()
    }

    pub(crate) fn number(&self, database: &str, sql: &str) -> i64 {
        let text = self.sql(database, sql);
        text.parse().unwrap_or_else(|_| panic!("{sql}: {text}"))
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.postgres().log_file()).unwrap()
    }

    pub(crate) async fn session(&self, database: &str) -> Client {
        let url = self.url(database, ADMIN_USER);
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    pub(crate) async fn migrated(&self, database: &str) -> Coordinator {
        self.sql("postgres", &format!("create database {database}"));
        let url = self.url(database, ADMIN_USER);
        let owner = Coordinator::connect(&url, &ConnectSettings::default()).await.unwrap();
        owner.migrate().await.unwrap();
        owner
    }

    fn calibrate(&self) -> f64 {
        let url = self.url("postgres", ADMIN_USER);
        let script = std::env::temp_dir().join(format!("everytab-select-1-{}", process::id()));
        fs::write(&script, "select 1;\n").unwrap();
        let output = Command::new("pgbench")
            .args(["-n", "-c", "2", "-j", "2", "-T", "3", "-M", "prepared", "-f"])
            .arg(&script)
            .arg(&url)
            .output()
            .unwrap_or_else(|error| panic!("pgbench: {error}"));
        fs::remove_file(&script).unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let tps = text.lines().find_map(|line| line.strip_prefix("tps = "));
        let tps = tps.and_then(|rest| rest.split(' ').next()).and_then(|tps| tps.parse().ok());
        tps.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Measures the current speed of this computer. Compare results only if their calibrations are
    /// equal.
    pub(crate) fn calibration(&self) -> Value {
        json!({"select_1_per_s": self.calibrate().round(), "commit_ms": self.commit_ms()})
    }

    fn commit_ms(&self) -> f64 {
        self.sql("postgres", "create table if not exists committed (n integer)");
        let sql = "do $$ begin for n in 1..500 loop insert into committed values (n); commit; \
                   end loop; end $$";
        let started = Instant::now();
        self.sql("postgres", sql);
        started.elapsed().as_secs_f64() * 1_000.0 / 500.0
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage {
            at: Instant::now(),
            processor: processor_time(self.postgres().pid()),
            wal_bytes: self
                .number("postgres", "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
            commits: self.number("postgres", "select sum(xact_commit) from pg_stat_database"),
        }
    }

    pub(crate) fn used_since(&self, before: &Usage) -> Used {
        let now = self.usage();
        let elapsed = now.at - before.at;
        Used {
            elapsed,
            cores: (now.processor - before.processor).as_secs_f64() / elapsed.as_secs_f64(),
            wal_bytes: now.wal_bytes - before.wal_bytes,
            commits: now.commits - before.commits,
        }
    }

    /// Binds all the server's processes to one core, which processes that start later inherit.
    pub(crate) fn pin(&self, core: &str) {
        for pid in with_children(self.postgres().pid()) {
            pin(pid, core);
        }
    }

    pub(crate) fn end(mut self) {
        self.postgres.take().unwrap().erase().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(postgres) = self.postgres.take()
            && let Err(error) = postgres.erase()
        {
            eprintln!("{error}");
        }
    }
}

pub(crate) fn pin(pid: u32, core: &str) {
    let done = Command::new("taskset").args(["-acp", core, &pid.to_string()]).output().unwrap();
    // The process may have exited by now.
    if !done.status.success() {
        eprintln!("taskset: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
}

fn with_children(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid == parent || stat(*pid).is_some_and(|stat| stat.parent == parent))
        .collect()
}

struct Stat {
    parent: u32,
    own_ticks: u64,
    reaped_ticks: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain spaces and parentheses.
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        own_ticks: number(11)? + number(12)?,
        reaped_ticks: number(13)? + number(14)?,
    })
}

pub(crate) fn own_processor_time() -> Duration {
    let ticks = stat(process::id()).map_or(0, |stat| stat.own_ticks);
    Duration::from_millis(ticks * 10)
}

fn processor_time(postmaster: u32) -> Duration {
    let ticks: u64 = with_children(postmaster)
        .into_iter()
        .filter_map(|pid| {
            let stat = stat(pid)?;
            Some(stat.own_ticks + if pid == postmaster { stat.reaped_ticks } else { 0 })
        })
        .sum();
    // A tick is 10 ms: USER_HZ is 100 on x86-64 and arm64.
    Duration::from_millis(ticks * 10)
}

pub(crate) async fn start_sharded(owner: &Coordinator, shards: u32, lease_ms: i32) -> i32 {
    let scan = NewScan {
        scan_id: Uuid::new_v4(),
        crawl: "CC-MAIN-2026-01".into(),
        settings: json!({"entries_per_bundle": 120}),
        lease_ms,
        archive_rate: None,
        digests: digests(),
        files: vec![("file-0.parquet".into(), None)],
    };
    let number = owner.start_scan(&scan).await.unwrap();
    let lease = owner
        .lease("bench", &[JobKind::Index], 1, &digests(), &LeaseCursors::default())
        .await
        .unwrap()
        .remove(0);
    let stats = samples::least_stats(u64::from(shards) * 1_200);
    let deadline = Instant::now() + Duration::from_secs(600);
    owner.complete(lease, &Output::Nothing, &stats, deadline).await.unwrap();
    number
}
