//! A migrated database for each test, scans to work on, and a worker that completes jobs.

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

/// The worker that leases unless a test needs several.
pub(crate) const WORKER_ID: &str = "worker";
/// How long jobs are leased unless a test wants leases to run out.
pub(crate) const LEASE_MS: i32 = 300_000;

/// A database that was migrated, and the owner's and the worker's ways into it.
pub(crate) struct Database {
    pub(crate) name: String,
    pub(crate) owner_url: String,
    pub(crate) worker_url: String,
    /// As the schema's owner.
    pub(crate) owner: Coordinator,
    /// As the worker's role.
    pub(crate) worker: Coordinator,
    /// Plain SQL as the owner, to look behind the functions.
    pub(crate) pool: Sessions,
}

/// The digests that the scans of these tests fix.
pub(crate) fn digests() -> Digests {
    Digests { encoder: "encoder".into() }
}

pub(crate) fn settings() -> ConnectSettings {
    ConnectSettings { max_connections: 3, ..ConnectSettings::default() }
}

/// The template is migrated once a server, whatever the number of test processes.
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

    /// A database of a server that only this test uses. It must be migrated already.
    pub(crate) async fn at(owner_url: String, worker_url: String, name: String) -> Self {
        let owner = Coordinator::connect(&owner_url, &settings()).await.unwrap();
        let worker = Coordinator::connect(&worker_url, &settings()).await.unwrap();
        let pool = Sessions::new(&owner_url);
        Self { name, owner_url, worker_url, owner, worker, pool }
    }

    /// Takes the right to temporary tables away, as migrating does: a database that was copied from
    /// a template does not have the template's rights.
    pub(crate) async fn revoke_temporary(&self) {
        self.run(
            "do $$ begin
                 execute format('revoke temporary on database %I from public', current_database());
             end $$",
        )
        .await;
    }

    /// One more session of the owner, to hold transactions open.
    pub(crate) async fn session(&self) -> Session {
        Session::connect(&self.owner_url).await
    }

    pub(crate) async fn run(&self, sql: &'static str) {
        self.pool.run(sql).await;
    }

    /// The rows of a query whose only parameter, if any, is a scan.
    pub(crate) async fn rows<T>(&self, sql: &'static str, scan: i32) -> Vec<T>
    where
        T: FromRow,
    {
        query(sql).bind(scan).rows(&self.pool).await
    }

    /// The one value that a query gives for a number: a scan or a job.
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

    /// A fingerprint of everything that a worker with a lost lease must not change.
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

    /// Starts a scan of `files` index files whose shards hold one host each, up to 16 of them.
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

    /// Starts a scan of one file and counts `shards` hosts (at most 16), one a shard.
    pub(crate) async fn start_sharded(&self, shards: u32) -> i32 {
        let scan = self.start(1).await;
        let lease = self.lease_one(JobKind::Index).await;
        let hosts: Vec<HostRow> = (0..shards).map(|n| host(spread(n, shards), n)).collect();
        assert_eq!(self.complete_hosts(lease, hosts).await, Completion::Recorded);
        scan
    }

    /// Leases by a full scan, as any worker.
    pub(crate) async fn lease_as(
        &self,
        worker_id: &str,
        kinds: &[JobKind],
        wanted: u32,
    ) -> Vec<Lease> {
        let cursors = LeaseCursors::default();
        let mut leases = Vec::new();
        // One call gives 32 at most.
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

    /// Leases jobs of all kinds.
    pub(crate) async fn lease_any(&self, wanted: u32) -> Vec<Lease> {
        self.lease_as(WORKER_ID, &JobKind::OF_SCANS, wanted).await
    }

    /// Whether a fence still holds its job for the usual worker.
    pub(crate) async fn holds(&self, fence: Fence) -> bool {
        self.worker.holds(WORKER_ID, fence).await.unwrap()
    }

    /// Lets every lease run out; the next full scan finds them.
    pub(crate) async fn expire_leases(&self) {
        self.run("update everytab.jobs set lease_until = now() where state = 'leased'").await;
    }

    /// Lets every back-off end.
    pub(crate) async fn end_backoffs(&self) {
        self.run("update everytab.jobs set not_before = now() where not_before < 'infinity'").await;
    }

    /// The next job of a kind; there must be one.
    pub(crate) async fn lease_one(&self, kind: JobKind) -> Lease {
        let mut leases = self.lease(kind, 1).await;
        leases.pop().unwrap_or_else(|| panic!("no {kind} job is ready"))
    }

    /// The job of one shard; the others of its kind are given back.
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

    /// Completes jobs that record no rows by one call of the SQL function.
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
            other => panic!("complete answered {other}"),
        };
        results.iter().map(completion).collect()
    }

    /// Completes a job with an output that its kind would have.
    pub(crate) async fn complete(&self, lease: Lease) -> Completion {
        self.complete_counting(lease, 1).await
    }

    /// The same, counting so many hosts.
    pub(crate) async fn complete_counting(&self, lease: Lease, hosts: u32) -> Completion {
        let output = output_of(&lease);
        let counts = json!({"hosts": hosts});
        let stats = json!({"inputs": {"items": 1}, "outcomes": {"ok": 1}, "counts": counts});
        self.worker.complete(lease, &output, &stats, soon()).await.unwrap()
    }

    /// Works until nothing is ready and nothing is left but what waits for a time.
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

    /// Counters and rows agree, by the coordinator's own audit and by counting again here.
    pub(crate) async fn assert_audited(&self, scan: i32) {
        let drift: Vec<(String, i32, i32)> =
            self.rows("select * from coordinator.audit_run($1)", scan).await;
        assert_eq!(drift, [], "(kind, outstanding, unfinished)");
        let sql = "select count(*) from everytab.jobs j join everytab.stages s using (run, kind)
                    where j.run = $1 and s.outstanding = 0 and j.state = 'leased'";
        assert_eq!(self.value::<i64>(sql, scan).await, 0, "a leased job of a stage that has ended");
    }
}

/// Completes a job inside the session's transaction, which the caller has recorded its rows in.
pub(crate) async fn complete_in(session: &Session, lease: &Lease, stats: Value) -> String {
    query("select (coordinator.complete(array[$1], array[$2], array[$3], array[$4]))[1]")
        .bind(lease.fence.job_id)
        .bind(lease.fence.lease_number)
        .bind(lease.fence.token)
        .bind(stats)
        .value(session)
        .await
}

/// The kinds that come before one in the pipeline.
pub(crate) fn kinds_before(kind: JobKind) -> Vec<JobKind> {
    JobKind::OF_SCANS.into_iter().filter(|other| *other < kind).collect()
}

/// Time enough for any answer of a local server.
pub(crate) fn soon() -> Instant {
    Instant::now() + LIMIT
}

/// A copy of a lease, as a worker has it that does not know that the lease is lost.
pub(crate) fn again(lease: &Lease) -> Lease {
    Lease { ..*lease }
}

/// A fence of another lease of the same job, or of the same lease with another token.
pub(crate) fn with_token(fence: Fence) -> Fence {
    Fence { token: Uuid::new_v4(), ..fence }
}

/// The `n`-th of `count` hashes that lie evenly over all of them, each inside its own slice.
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

/// The path of a WARC file of the crawl that [`Database::start_with`] names.
pub(crate) fn warc_path(name: &str) -> String {
    format!("crawl-data/CC-MAIN-2026-01/{name}.warc.gz")
}

/// The counts of an index job that found so many hosts.
pub(crate) fn hosts_counted(hosts: usize) -> Value {
    json!({"inputs": {}, "outcomes": {}, "counts": {"hosts": hosts}})
}

/// The counts of a job that had nothing to do, whatever its kind.
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

/// Something that a job of the lease's kind would record.
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

/// The SQLSTATE of a refusal.
pub(crate) fn sqlstate<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match &result {
        Err(error) if error.sqlstate().is_some() => error.sqlstate().unwrap().to_owned(),
        other => panic!("expected Postgres to refuse, got {other:?}"),
    }
}

/// Waits until a session of this database waits for a lock.
pub(crate) async fn until_someone_waits(database: &Database) {
    let sql = "select count(*) from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock' and $1 = 0";
    until("a session that waits", async || database.value::<i64>(sql, 0).await > 0).await;
}
