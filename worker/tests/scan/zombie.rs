//! A worker that is frozen for longer than its lease and then goes on: what it has done is
//! refused, what it stored is referred to by nothing and collected, and the bytes are right.

use std::{collections::BTreeSet, path::PathBuf};

use everytab_postgres::shared_for_tests;
use everytab_testbed::{Behaviour, Mix, s3::S3Server};

use crate::{
    books::{self, Found, SMALL_SHARDS},
    chaos::wire::{Proxy, Server},
    places::{Database, Internet, Stores, internet, socket_of, with_s3},
    setup::{Ended, Running, run, wait_for},
};

/// A scan over S3 with a proxy before Postgres and one before S3, which one worker alone uses.
struct Scene {
    internet: Internet,
    s3: S3Server,
    to_s3: Proxy,
    to_postgres: Proxy,
    database: Database,
    expected: Found,
}

impl Scene {
    fn new() -> Self {
        let internet = internet(120, Mix::none().with(Behaviour::NotFound, 100_000));
        let calm = internet.folder.path().join("undisturbed");
        let database = Database::new(&internet, Stores::folders(&internet, &calm));
        let expected = Found::undisturbed(&database, internet.crawl(), &calm.join("site"));
        let s3 = internet.s3();
        let address = s3.endpoint.trim_start_matches("http://").to_owned();
        let to_s3 = Proxy::before(&internet.runtime, Server::Tcp(address));
        let socket = Server::Unix(socket_of(&shared_for_tests().admin_url()));
        let to_postgres = Proxy::before(&internet.runtime, socket);
        let database = Database::new(&internet, Stores::s3(&s3.endpoint));
        database.start_scan(internet.crawl(), &SMALL_SHARDS);
        Self { internet, s3, to_s3, to_postgres, database, expected }
    }

    /// The worker that will be frozen; it takes no jobs of the stages before.
    fn start_zombie(&self) -> Running {
        let others = ["--role", "index,warc,bundles,publish"];
        let mut before = Running::start(self.database.worker(&others));
        wait_for("an icon job", || {
            let ready = "select count(*) from everytab.jobs where kind = 'icon'";
            (self.database.psql(ready) != "0").then_some(())
        });
        before.kill();
        let place = self.to_postgres.address;
        let mut command = self.database.worker_by(place, &["--role", "icons", "--exit-when-done"]);
        with_s3(&mut command, &format!("http://{}", self.to_s3.address));
        Running::start(command)
    }

    /// Freezes it at a trap, has another worker finish the scan, and thaws it.
    fn outlive(&self, zombie: Running, trap: &Proxy) -> Ended {
        wait_for("the moment to freeze", || trap.has_trapped().then_some(()));
        zombie.signal("STOP");
        run(self.database.worker(&["--exit-when-done"])).expect_code(0);
        self.to_s3.release();
        self.to_postgres.release();
        zombie.signal("CONT");
        let ended = zombie.finish().expect_code(0);
        books::assert_sound(&self.database);
        let folder = self.internet.folder.path();
        let found = Found::of(&self.database, &folder.join("s3/everytab/site"));
        self.expected.assert_same(&found, "undisturbed and outlived by a zombie");
        ended
    }

    fn store(&self) -> PathBuf {
        self.internet.folder.path().join("s3/everytab/private")
    }

    /// The zombie's objects are there and go, the others stay.
    fn collect(&self) {
        let (referenced, others) = books::archives(&self.database, &self.store());
        let first: BTreeSet<&String> =
            others.iter().filter(|name| name.ends_with("-1.warc.gz")).collect();
        assert!(!first.is_empty(), "{others:?} besides {referenced:?} at {}", self.s3.endpoint);
        assert!(books::assert_collected(&self.database, &self.store()) >= first.len());
    }
}

#[test]
fn a_worker_frozen_past_its_lease_in_an_upload_changes_nothing() {
    let scene = Scene::new();
    scene.to_s3.trap(b".warc.gz?x-id=PutObject");
    let zombie = scene.start_zombie();
    let ended = scene.outlive(zombie, &scene.to_s3);
    assert!(ended.stderr.contains("the job was ended"), "{}", ended.stderr);
    // What had left the worker before it froze may have arrived since; nothing refers to it.
    books::assert_collected(&scene.database, &scene.store());
}

#[test]
fn a_worker_frozen_past_its_lease_before_it_records_is_refused_and_its_archive_collected() {
    let scene = Scene::new();
    scene.to_postgres.trap(b"coordinator.record_icons(");
    let zombie = scene.start_zombie();
    let ended = scene.outlive(zombie, &scene.to_postgres);
    assert!(ended.stderr.contains("outcome=\"lost\""), "{}", ended.stderr);
    scene.collect();
}

#[test]
fn a_worker_frozen_between_its_rows_and_its_completion_holds_nobody_up_and_is_collected() {
    let scene = Scene::new();
    scene.to_postgres.trap(b"coordinator.complete(");
    let zombie = scene.start_zombie();
    scene.outlive(zombie, &scene.to_postgres);
    scene.collect();
}

#[test]
fn a_worker_frozen_before_its_commit_holds_nobody_up_and_is_collected() {
    let scene = Scene::new();
    // Once all its jobs are in their uploads, the next commit is one of a completion.
    scene.to_s3.trap(b".warc.gz?x-id=PutObject");
    let zombie = scene.start_zombie();
    wait_for("the uploads of all its jobs", || {
        let leased = "select count(*) from everytab.jobs where kind = 'icon' and state = 'leased'";
        (scene.database.psql(leased) == scene.to_s3.trapped().to_string()
            && scene.to_s3.has_trapped())
        .then_some(())
    });
    scene.to_postgres.trap(b"commit\0");
    scene.to_s3.release();
    scene.outlive(zombie, &scene.to_postgres);
    scene.collect();
}
