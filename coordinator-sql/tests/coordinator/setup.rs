//! Gives each test a migrated database, scans to work on, and functions that lease and complete
//! jobs.

use std::time::Instant;

use chrono::DateTime;
use everytab_coordinator::{
    BundleRow, Completion, ConnectSettings, Coordinator, Digests, Error, Fence, HostRow, IconRow,
    JobKind, Lease, LeaseCursors, NewScan, Output, PageRow, schema_digest,
};
use everytab_patience::{LIMIT, until};
use everytab_postgres::{ADMIN_USER, TestServer, shared_for_tests};
use serde_json::{Value, json};
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::session::{FromRow, Session, Sessions, query};

pub(crate) const WORKER_ID: &str = "worker";
/// Default lease duration, so long that no lease expires during a test.
pub(crate) const LEASE_MS: i32 = 300_000;

pub(crate) struct Database {
    pub(crate) name: String,
    pub(crate) owner_url: String,
    pub(crate) worker_url: String,
    pub(crate) owner: Coordinator,
    pub(crate) worker: Coordinator,
    pub(crate) pool: Sessions,
}

pub(crate) fn digests() -> Digests {
    Digests { encoder: "encoder".into() }
}

pub(crate) fn settings() -> ConnectSettings {
    ConnectSettings { max_connections: 3, ..ConnectSettings::default() }
}

pub(crate) fn template(server: &TestServer) -> String {
    let name = format!("coordinator_{}", schema_digest());
    server.template(&name, |url| {
        std::thread::scope(|scope| {
            let migrated = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(async {
                    let coordinator = Coordinator::connect(url, &settings()).await.unwrap();
                    coordinator.migrate().await.unwrap();
                    coordinator.close().await;
                });
            });
            migrated.join().unwrap();
        });
    });
    name
}

impl Database {
    pub(crate) async fn new() -> Self {
        let server = shared_for_tests();
        let name = server.fresh_database(Some(&template(server)));
        let url = |user| server.url(&name, user);
        Self::at(url(ADMIN_USER), url("everytab_worker"), name.clone()).await
    }

    pub(crate) async fn at(owner_url: String, worker_url: String, name: String) -> Self {
        let owner = Coordinator::connect(&owner_url, &settings()).await.unwrap();
        let worker = Coordinator::connect(&worker_url, &settings()).await.unwrap();
        let pool = Sessions::new(&owner_url);
        Self { name, owner_url, worker_url, owner, worker, pool }
    }

    /// A copied database does not inherit the template's revoked right.
    pub(crate) async fn revoke_temporary(&self) {
        self.run(
            "do $$ begin
                 execute format('revoke temporary on database %I from public', current_database());
             end $$",
        )
        .await;
    }

    pub(crate) async fn session(&self) -> Session {
        Session::connect(&self.owner_url).await
    }

    pub(crate) async fn run(&self, sql: &'static str) {
        self.pool.run(sql).await;
    }

    /// The query's only parameter, if any, is the scan.
    pub(crate) async fn rows<T>(&self, sql: &'static str, scan: i32) -> Vec<T>
    where
        T: FromRow,
    {
        query(sql).bind(scan).rows(&self.pool).await
    }

    pub(crate) async fn value<T>(&self, sql: &'static str, number: impl Into<i64>) -> T
    where
        T: for<'r> FromSql<'r>,
    {
        query(sql).bind(number.into()).value(&self.pool).await
    }

    pub(crate) async fn state_of_scan(&self, scan: i32) -> String {
        self.value("select state::text from everytab.runs where run = $1", scan).await
    }

    pub(crate) async fn state_of_job(&self, job_id: i64) -> String {
        self.value("select state::text from everytab.jobs where job_id = $1", job_id).await
    }

    /// Returns a fingerprint of all data that a worker with a lost lease must not change.
    pub(crate) async fn contents(&self) -> Vec<String> {
        let mut contents = Vec::new();
        for sql in [
            "select coalesce(jsonb_agg(to_jsonb(t) order by t.job_id), '[]')::text
               from everytab.jobs t",
            "select coalesce(jsonb_agg(to_jsonb(t) order by t.run, t.kind), '[]')::text
               from everytab.stages t",
            "select coalesce(jsonb_agg(to_jsonb(t) order by t.scan), '[]')::text
               from everytab.scans t",
            "select coalesce(jsonb_agg(to_jsonb(t) order by t.run), '[]')::text
               from everytab.runs t",
            "select count(*)::text from everytab.job_results",
            "select count(*)::text from everytab.job_events",
            "select count(*)::text from everytab.hosts",
            "select count(*)::text from everytab.pages",
            "select count(*)::text from everytab.icons",
            "select count(*)::text from everytab.bundles",
            "select count(*)::text from everytab.warc_files",
        ] {
            contents.push(query(sql).value(&self.pool).await);
        }
        contents
    }

    /// The scan has up to 16 shards of one host each.
    pub(crate) async fn start(&self, files: usize) -> i32 {
        self.start_with(files, LEASE_MS, json!({"entries_per_bundle": 1})).await
    }

    pub(crate) async fn start_with(&self, files: usize, lease_ms: i32, settings: Value) -> i32 {
        let scan = NewScan {
            scan_id: Uuid::new_v4(),
            crawl: "CC-MAIN-2026-01".into(),
            settings,
            lease_ms,
            archive_rate: None,
            digests: digests(),
            files: (0..files).map(|file| (format!("file-{file}.parquet"), None)).collect(),
        };
        self.owner.start_scan(&scan).await.unwrap()
    }

    /// The scan has one index file, and `shards` shards (at most 16) of one host each.
    pub(crate) async fn start_sharded(&self, shards: u32) -> i32 {
        let scan = self.start(1).await;
        let lease = self.lease_one(JobKind::Index).await;
        let hosts: Vec<HostRow> = (0..shards).map(|n| host(spread(n, shards), n)).collect();
        assert_eq!(self.complete_hosts(lease, hosts).await, Completion::Recorded);
        scan
    }

    pub(crate) async fn lease_as(
        &self,
        worker_id: &str,
        kinds: &[JobKind],
        wanted: u32,
    ) -> Vec<Lease> {
        let cursors = LeaseCursors::default();
        let mut leases = Vec::new();
        while let missing @ 1.. = wanted - u32::try_from(leases.len()).unwrap() {
            let got = self.worker.lease(worker_id, kinds, missing, &digests(), &cursors).await;
            let got = got.unwrap();
            if got.is_empty() {
                break;
            }
            leases.extend(got);
        }
        leases
    }

    pub(crate) async fn lease(&self, kind: JobKind, wanted: u32) -> Vec<Lease> {
        self.lease_as(WORKER_ID, &[kind], wanted).await
    }

    pub(crate) async fn lease_any(&self, wanted: u32) -> Vec<Lease> {
        self.lease_as(WORKER_ID, &JobKind::OF_SCANS, wanted).await
    }

    pub(crate) async fn holds(&self, fence: Fence) -> bool {
        self.worker.holds(WORKER_ID, fence).await.unwrap()
    }

    pub(crate) async fn expire_leases(&self) {
        self.run("update everytab.jobs set lease_until = now() where state = 'leased'").await;
    }

    pub(crate) async fn end_backoffs(&self) {
        self.run("update everytab.jobs set not_before = now() where not_before < 'infinity'").await;
    }

    pub(crate) async fn lease_one(&self, kind: JobKind) -> Lease {
        let mut leases = self.lease(kind, 1).await;
        leases.pop().unwrap_or_else(|| panic!("no {kind} job is ready"))
    }

    pub(crate) async fn lease_part(&self, kind: JobKind, part: i32) -> Lease {
        let mut wanted = None;
        for lease in self.lease(kind, 1_000).await {
            if lease.part == part {
                wanted = Some(lease);
            } else {
                self.worker.release(lease, "not that one", soon()).await.unwrap();
            }
        }
        wanted.unwrap_or_else(|| panic!("{kind} {part} is not ready"))
    }

    pub(crate) async fn complete_hosts(&self, lease: Lease, hosts: Vec<HostRow>) -> Completion {
        let stats = hosts_counted(hosts.len());
        self.worker.complete(lease, &Output::Hosts(hosts), &stats, soon()).await.unwrap()
    }

    /// The jobs record no rows.
    pub(crate) async fn complete_all(&self, leases: Vec<(Lease, Value)>) -> Vec<Completion> {
        let fences = || leases.iter().map(|(lease, _)| lease.fence);
        let stats = leases.iter().map(|(_, stats)| stats.clone());
        let results: Vec<String> = query("select unnest(coordinator.complete($1, $2, $3, $4))")
            .bind(fences().map(|fence| fence.job_id).collect::<Vec<_>>())
            .bind(fences().map(|fence| fence.lease_number).collect::<Vec<_>>())
            .bind(fences().map(|fence| fence.token).collect::<Vec<_>>())
            .bind(stats.collect::<Vec<_>>())
            .column(&Session::connect(&self.worker_url).await)
            .await;
        let completion = |result: &String| match result.as_str() {
            "recorded" => Completion::Recorded,
            "already_recorded" => Completion::AlreadyRecorded,
            "lost" => Completion::Lost,
            other => panic!("complete returned {other}"),
        };
        results.iter().map(completion).collect()
    }

    pub(crate) async fn complete(&self, lease: Lease) -> Completion {
        self.complete_counting(lease, 1).await
    }

    pub(crate) async fn complete_counting(&self, lease: Lease, hosts: u32) -> Completion {
        let output = output_of(&lease);
        let counts = json!({"hosts": hosts});
        let stats = json!({"inputs": {"items": 1}, "outcomes": {"ok": 1}, "counts": counts});
        self.worker.complete(lease, &output, &stats, soon()).await.unwrap()
    }

    pub(crate) async fn work(&self) {
        self.work_on(&JobKind::OF_SCANS).await;
    }

    pub(crate) async fn work_on(&self, kinds: &[JobKind]) {
        loop {
            let leases = self.lease_as(WORKER_ID, kinds, 100).await;
            if leases.is_empty() {
                return;
            }
            for lease in leases {
                assert_eq!(self.complete(lease).await, Completion::Recorded);
            }
        }
    }

    pub(crate) async fn assert_audited(&self, scan: i32) {
        let drift: Vec<(String, i32, i32)> =
            self.rows("select * from coordinator.audit_run($1)", scan).await;
        assert_eq!(drift, [], "(kind, outstanding, unfinished)");
        let sql = "select count(*) from everytab.jobs j join everytab.stages s using (run, kind)
                    where j.run = $1 and s.outstanding = 0 and j.state = 'leased'";
        assert_eq!(self.value::<i64>(sql, scan).await, 0, "a finished stage has a leased job");
    }
}

pub(crate) async fn complete_in(session: &Session, lease: &Lease, stats: Value) -> String {
    query("select (coordinator.complete(array[$1], array[$2], array[$3], array[$4]))[1]")
        .bind(lease.fence.job_id)
        .bind(lease.fence.lease_number)
        .bind(lease.fence.token)
        .bind(stats)
        .value(session)
        .await
}

pub(crate) fn kinds_before(kind: JobKind) -> Vec<JobKind> {
    JobKind::OF_SCANS.into_iter().filter(|other| *other < kind).collect()
}

pub(crate) fn soon() -> Instant {
    Instant::now() + LIMIT
}

/// Copies a lease, as if a worker had not noticed that it lost the lease.
pub(crate) fn again(lease: &Lease) -> Lease {
    Lease { ..*lease }
}

pub(crate) fn with_token(fence: Fence) -> Fence {
    Fence { token: Uuid::new_v4(), ..fence }
}

pub(crate) fn spread(n: u32, count: u32) -> u64 {
    let step = u64::MAX / u64::from(count.max(1));
    step * u64::from(n) + step / 2
}

pub(crate) fn host(hash: u64, n: u32) -> HostRow {
    HostRow {
        hash,
        hostname: format!("host-{n}.example"),
        https: true,
        fetch_time: DateTime::from_timestamp(1_700_000_000, 0).unwrap(),
        warc_path: warc_path("first"),
        warc_offset: i64::from(n) * 1_000,
        warc_length: 900,
    }
}

pub(crate) fn warc_path(name: &str) -> String {
    format!("crawl-data/CC-MAIN-2026-01/{name}.warc.gz")
}

pub(crate) fn hosts_counted(hosts: usize) -> Value {
    json!({"inputs": {}, "outcomes": {}, "counts": {"hosts": hosts}})
}

pub(crate) fn no_counts() -> Value {
    hosts_counted(0)
}

pub(crate) fn page(host_no: i32, hostname: &str) -> PageRow {
    PageRow {
        host_no,
        hostname: hostname.into(),
        https: true,
        frameable: true,
        framing_rule: "none".into(),
        charset: Some("UTF-8".into()),
        title_state: "ok".into(),
        title: Some(format!("Title of {hostname}")),
        candidates: "[]".into(),
        outcome: "ok".into(),
    }
}

pub(crate) fn icon(host_no: i32, candidate_no: i16, url: &str) -> IconRow {
    IconRow {
        host_no,
        candidate_no,
        touch: false,
        width: Some(32),
        height: Some(32),
        bytes: Some(500),
        archive_offset: Some(i64::from(candidate_no) * 1_000),
        archive_length: Some(700),
        sha256: Some(vec![7; 32]),
        outcome: "ok".into(),
        content_type: Some("image/png".into()),
        url: url.into(),
    }
}

pub(crate) fn output_of(lease: &Lease) -> Output {
    let part = lease.part;
    let number = part.unsigned_abs();
    match lease.kind {
        JobKind::Index => Output::Hosts(vec![host(spread(number, 16), number)]),
        JobKind::Warc => Output::Pages(vec![page(0, &format!("host-{part}.example"))]),
        JobKind::Icon => Output::Icons(vec![icon(0, 0, &format!("https://host-{part}.example/"))]),
        JobKind::BundleShard => Output::Bundles(BundleRow {
            first_bundle: part,
            bundles: 1,
            tabs: 1,
            with_icon: 1,
            bytes: 100,
            digest: [1; 32],
        }),
        _ => Output::Nothing,
    }
}

pub(crate) fn sqlstate<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match &result {
        Err(error) if error.sqlstate().is_some() => error.sqlstate().unwrap().to_owned(),
        other => panic!("expected an error from Postgres, got {other:?}"),
    }
}

pub(crate) async fn until_someone_waits(database: &Database) {
    let sql = "select count(*) from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock' and $1 = 0";
    until("a session that waits", async || database.value::<i64>(sql, 0).await > 0).await;
}
