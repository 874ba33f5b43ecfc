//! Tests that `doctor --role` passes with the database role and keys of such a process, and names
//! those that do not suffice.

use everytab_postgres::shared_for_tests;
use everytab_testbed::{Mix, Storm};

use crate::{
    environment::{Database, Internet, Stores, internet, stage},
    live_crawls::{graph, graph_of_sites, start_crawl},
    setup::{Ended, Running, run, wait_for},
};

const ROLES: [(&str, &str); 8] = [
    ("all", "everytab_worker"),
    ("index", "everytab_worker_crawl"),
    ("warc,index", "everytab_worker_crawl"),
    ("icons", "everytab_worker_icons"),
    ("bundles", "everytab_worker_site"),
    ("publish,bundles", "everytab_worker_site"),
    ("crawl", "everytab_worker"),
    ("api", "everytab_api"),
];

/// Runs `doctor` as a database role. `name` is a hostname that the resolver knows.
fn doctor(
    internet: &Internet,
    database: &Database,
    user: &str,
    name: &str,
    more: &[&str],
) -> Ended {
    let mut command = database.owner(&["doctor", "--look-up", name]);
    command.args(internet.running.client.arguments()).args(more);
    command.env("DATABASE_URL", shared_for_tests().url(&database.name, user));
    run(command)
}

fn host_of_a_started_scan(internet: &Internet, database: &Database) -> String {
    database.start_scan(internet.crawl(), &[]);
    let worker = Running::start(database.worker(&["--role", "index"]));
    wait_for("the hosts", || {
        (stage(&database.status(), "index")["outstanding"] == 0).then_some(())
    });
    worker.terminate();
    worker.finish().expect_code(4);
    database.psql("select min(hostname) from everytab.hosts").trim().to_owned()
}

#[test]
fn doctor_passes_for_each_role_and_names_the_database_role_that_another_needs() {
    let internet = internet(20, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let name = host_of_a_started_scan(&internet, &database);
    for (role, user) in ROLES {
        let ended = doctor(&internet, &database, user, &name, &["--role", role]).expect_code(0);
        assert!(ended.stdout.contains("ok    rights"), "{role}: {}", ended.stdout);
        assert_eq!(ended.stdout.contains("live crawls"), ["all", "crawl"].contains(&role));
        assert_eq!(ended.stdout.contains(" resolver"), ["all", "crawl", "icons"].contains(&role));
    }
    for (role, user, wanted) in [
        ("icons", "everytab_worker_crawl", "sign in as everytab_worker_icons"),
        ("index,warc", "everytab_worker_icons", "sign in as everytab_worker_crawl"),
        ("publish", "everytab_worker_icons", "sign in as everytab_worker_site"),
        ("icons,bundles", "everytab_worker_site", "sign in as everytab_worker,"),
        ("crawl", "everytab_worker_site", "sign in as everytab_worker,"),
        ("api", "everytab_worker", "sign in as everytab_api"),
    ] {
        let ended = doctor(&internet, &database, user, &name, &["--role", role]).expect_code(1);
        let line = ended.stdout.lines().find(|line| line.starts_with("FAIL  rights"));
        assert!(line.is_some_and(|line| line.contains(wanted)), "{role}: {}", ended.stdout);
    }
    // Without `--role`, `doctor` checks an operator's requirements.
    let ended = doctor(&internet, &database, "everytab_worker_icons", &name, &[]).expect_code(1);
    assert!(ended.stdout.contains("name the roles of this machine's worker with --role"));
    let mixed = doctor(&internet, &database, "everytab_api", &name, &["--role", "api,icons"]);
    assert!(mixed.expect_code(2).stderr.contains("cannot be combined with another role"));
}

#[test]
fn doctor_for_a_role_uses_only_its_stores_and_needs_no_right_to_delete() {
    let internet = internet(20, Mix::none());
    let s3 = internet.s3();
    let database = Database::new(&internet, Stores::s3(&s3.endpoint));
    let name = host_of_a_started_scan(&internet, &database);
    let bucket = internet.folder.path().join("s3/everytab");
    let [archive, site] = ["/everytab/private/", "/everytab/site/"];
    let passes = |role: &str, user: &str, refused: &[&str]| {
        for path in refused {
            s3.weather.begin(Storm::of(403).over(path));
        }
        doctor(&internet, &database, user, &name, &["--role", role]).expect_code(0);
        s3.weather.clear();
    };
    passes("index,warc", "everytab_worker_crawl", &["/everytab"]);
    passes("icons", "everytab_worker_icons", &[site, "?delete", "?list-type"]);
    passes("bundles", "everytab_worker_site", &["/crawl", "?delete", "/.doctor/"]);
    passes("publish", "everytab_worker_site", &["/crawl", archive, "?delete"]);
    passes("all", "everytab_worker", &["?delete", "/.doctor/"]);
    // These keys cannot delete the probe objects.
    let left = ["private/archive/.doctor-probe", "site/scans/.doctor-probe", "site/.doctor-probe"];
    assert!(left.iter().all(|probe| bucket.join(probe).exists()), "{}", bucket.display());
    run(database.owner(&["scan", "gc"])).expect_code(0);
    assert!(!left.iter().any(|probe| bucket.join(probe).exists()), "{}", bucket.display());
    for (role, user, refused) in [
        ("icons", "everytab_worker_icons", archive),
        ("bundles", "everytab_worker_site", archive),
        ("bundles", "everytab_worker_site", site),
        ("bundles", "everytab_worker_site", "/everytab/site/manifest.json"),
        ("publish", "everytab_worker_site", site),
        ("index", "everytab_worker_crawl", "/crawl/"),
    ] {
        s3.weather.begin(Storm::of(403).over(refused));
        doctor(&internet, &database, user, &name, &["--role", role]).expect_code(1);
        s3.weather.clear();
    }
}

#[test]
fn doctor_names_a_store_that_is_not_the_scans_and_writes_nothing_to_it() {
    let internet = internet(20, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let name = host_of_a_started_scan(&internet, &database);
    std::fs::rename(dir.join("archive"), dir.join("elsewhere")).unwrap();
    let user = "everytab_worker_icons";
    let ended = doctor(&internet, &database, user, &name, &["--role", "icons"]).expect_code(1);
    let line = ended.stdout.lines().find(|line| line.starts_with("FAIL  archive"));
    assert!(line.is_some_and(|line| line.contains("is not the scan's store")), "{}", ended.stdout);
    assert!(!dir.join("archive").exists());
}

#[test]
fn doctor_for_a_crawler_checks_the_crawls_store_and_not_the_fleet() {
    let internet = graph_of_sites(8, 4, 20);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    start_crawl(&internet, &database, "1s");
    let home = graph(&internet).url(graph(&internet).home(0));
    let name = home.split(['/', ':']).nth(3).unwrap().to_owned();
    let agent = ["--role", "crawl", "--user-agent", "Bot/1.0 (+https://bot.page)"];
    let ended = doctor(&internet, &database, "everytab_worker", &name, &agent).expect_code(0);
    assert!(ended.stdout.contains("ok    crawl store"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("crawl workers"), "{}", ended.stdout);
}
