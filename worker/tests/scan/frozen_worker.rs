//! Tests a worker that is frozen (SIGSTOP) for longer than its lease: Postgres rejects its results,
//! `scan gc` deletes its archive objects, and the published bytes do not change. This also holds if
//! a failover lost the lease, so that the next lease has the same number.

use std::{collections::BTreeSet, path::PathBuf};

use everytab_postgres::shared_for_tests;
use everytab_testbed::{Behaviour, Mix, s3::S3Server};

use crate::{
    chaos::fault_proxy::{FaultProxy, Upstream},
    consistency::{self, SMALL_SHARDS, ScanResult},
    environment::{Database, Internet, Stores, internet, socket_of, with_s3},
    setup::{Ended, Running, run, wait_for},
};

/// A scan with stores in S3. Proxies in front of Postgres and S3 serve only the worker to freeze.
struct FrozenWorkerTest {
    internet: Internet,
    s3: S3Server,
    to_s3: FaultProxy,
    to_postgres: FaultProxy,
    database: Database,
    expected: ScanResult,
}

impl FrozenWorkerTest {
    fn new() -> Self {
        let internet = internet(120, Mix::none().with(Behaviour::NotFound, 100_000));
        let calm = internet.folder.path().join("undisturbed");
        let database = Database::new(&internet, Stores::folders(&internet, &calm));
        let expected = ScanResult::undisturbed(&database, internet.crawl(), &calm.join("site"));
        let s3 = internet.s3();
        let address = s3.endpoint.trim_start_matches("http://").to_owned();
        let to_s3 = FaultProxy::before(&internet.runtime, Upstream::Tcp(address));
        let socket = Upstream::Unix(socket_of(&shared_for_tests().admin_url()));
        let to_postgres = FaultProxy::before(&internet.runtime, socket);
        let database = Database::new(&internet, Stores::s3(&s3.endpoint));
        database.start_scan(internet.crawl(), &SMALL_SHARDS);
        Self { internet, s3, to_s3, to_postgres, database, expected }
    }

    /// Runs the earlier stages with another worker, and starts the one to freeze.
    fn start_worker(&self) -> Running {
        let others = ["--role", "index,warc,bundles,publish"];
        let mut before = Running::start(self.database.worker(&others));
        wait_for("an icon job", || {
            let ready = "select count(*) from everytab.jobs where kind = 'icon'";
            (self.database.psql(ready) != "0").then_some(())
        });
        before.kill();
        let place = self.to_postgres.address;
        let mut command =
            self.database.worker_through(place, &["--role", "icons", "--exit-when-done"]);
        with_s3(&mut command, &format!("http://{}", self.to_s3.address));
        Running::start(command)
    }

    /// Freezes the worker once the proxy holds one of its messages, and finishes the scan. Returns
    /// how the worker ended, and the archive objects that it had stored.
    fn finish_without(&self, frozen: Running, trap: &FaultProxy) -> (Ended, BTreeSet<String>) {
        let stored = self.freeze(&frozen, trap);
        (self.finish(frozen), stored)
    }

    fn freeze(&self, frozen: &Running, trap: &FaultProxy) -> BTreeSet<String> {
        wait_for("a trapped piece", || trap.has_trapped().then_some(()));
        frozen.signal("STOP");
        consistency::stored_archives(&self.database, &self.store())
    }

    fn finish(&self, frozen: Running) -> Ended {
        run(self.database.worker(&["--exit-when-done"])).expect_code(0);
        self.to_s3.release();
        self.to_postgres.release();
        frozen.signal("CONT");
        let ended = frozen.finish().expect_code(0);
        consistency::assert_consistent(&self.database);
        let folder = self.internet.folder.path();
        let found = ScanResult::of(&self.database, &folder.join("s3/everytab/site"));
        self.expected.assert_same(&found, "without and with a frozen worker");
        ended
    }

    fn store(&self) -> PathBuf {
        self.internet.folder.path().join("s3/everytab/private")
    }

    /// Checks that `scan gc` deletes exactly the objects without a row, among them those of the
    /// frozen worker.
    fn assert_stored_objects_collected(&self, stored: &BTreeSet<String>) {
        let (referenced, others) = consistency::archive_objects(&self.database, &self.store());
        assert!(
            !stored.is_empty() && stored.is_subset(&others),
            "stored by the frozen worker: {stored:?}, without a row: {others:?}, with rows: \
             {referenced:?} at {}",
            self.s3.endpoint
        );
        consistency::assert_garbage_collected(&self.database, &self.store());
    }
}

#[test]
fn a_worker_frozen_past_its_lease_in_an_upload_changes_nothing() {
    let test = FrozenWorkerTest::new();
    test.to_s3.trap(b".warc.gz?x-id=PutObject");
    let frozen = test.start_worker();
    let (ended, _) = test.finish_without(frozen, &test.to_s3);
    // A renewal or the report tells the worker that its lease is lost, whichever is first.
    let told = ["the job was aborted", "outcome=\"lost\""];
    assert!(told.iter().any(|line| ended.stderr.contains(line)), "{}", ended.stderr);
    // An upload from before the freeze may have arrived. No row refers to it.
    consistency::assert_garbage_collected(&test.database, &test.store());
}

#[test]
fn a_worker_frozen_past_its_lease_before_it_records_is_refused_and_its_archive_collected() {
    let test = FrozenWorkerTest::new();
    test.to_postgres.trap(b"coordinator.record_icons(");
    let frozen = test.start_worker();
    let (ended, stored) = test.finish_without(frozen, &test.to_postgres);
    // Postgres rejects the report. On a busy host it may already have closed the transaction.
    let told = ["outcome=\"lost\"", "the lease will expire by itself"];
    assert!(told.iter().any(|line| ended.stderr.contains(line)), "{}", ended.stderr);
    test.assert_stored_objects_collected(&stored);
}

#[test]
fn a_worker_frozen_between_its_rows_and_its_completion_blocks_no_other_and_is_collected() {
    let test = FrozenWorkerTest::new();
    test.to_postgres.trap(b"coordinator.complete(");
    let frozen = test.start_worker();
    let (_, stored) = test.finish_without(frozen, &test.to_postgres);
    test.assert_stored_objects_collected(&stored);
}

#[test]
fn a_worker_frozen_before_its_commit_blocks_no_other_and_is_collected() {
    let test = FrozenWorkerTest::new();
    // While all its jobs are uploading, the worker's next commit is a completion.
    test.to_s3.trap(b".warc.gz?x-id=PutObject");
    let frozen = test.start_worker();
    wait_for("the uploads of all its jobs", || {
        let leased = "select count(*) from everytab.jobs where kind = 'icon' and state = 'leased'";
        (test.database.psql(leased) == test.to_s3.trapped().to_string() && test.to_s3.has_trapped())
            .then_some(())
    });
    test.to_postgres.trap(b"commit\0");
    test.to_s3.release();
    let (_, stored) = test.finish_without(frozen, &test.to_postgres);
    test.assert_stored_objects_collected(&stored);
}

#[test]
fn a_lease_that_a_failover_gave_twice_writes_two_archives_and_the_bytes_are_right() {
    let test = FrozenWorkerTest::new();
    test.to_postgres.trap(b"coordinator.record_icons(");
    let frozen = test.start_worker();
    let stored = test.freeze(&frozen, &test.to_postgres);
    // Simulates a failover to a standby that lacks these leases' commits.
    test.database.psql(
        "update everytab.jobs
            set state = 'pending', lease_number = lease_number - 1, lease_token = null,
                lease_until = null, leased_at = null, worker_id = null
          where kind = 'icon' and state = 'leased'",
    );
    test.finish(frozen);
    // On a busy host a lease may expire once more, so that its job has a second lease.
    let first = "select min(lease_number) from everytab.job_results where kind = 'icon'";
    assert_eq!(
        test.database.psql(first),
        "1",
        "the completed lease must have the lost lease's number"
    );
    test.assert_stored_objects_collected(&stored);
}
