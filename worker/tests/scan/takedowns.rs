//! A host that was taken down stays away: from a scan that was running, from a scan that is
//! published again, from one whose jobs are performed again, and from older scans' objects.

use std::{collections::BTreeSet, fs, path::Path};

use everytab_testbed::Mix;
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores, internet},
    setup::{files, manifest, run},
};

/// The hostnames that the page shows: those of the bundles that the manifest names.
fn shown(site: &Path) -> BTreeSet<String> {
    let manifest = manifest(site);
    let prefix = site.join(manifest["prefix"].as_str().unwrap());
    let mut hosts = BTreeSet::new();
    for number in 0..manifest["bundles"].as_u64().unwrap() {
        let original = format!("tabs/{number}.json");
        let path = manifest["overrides"][number.to_string()].as_str().unwrap_or(&original);
        let bundle: Value = serde_json::from_slice(&fs::read(prefix.join(path)).unwrap()).unwrap();
        for (slot, entry) in (0..).zip(bundle["entries"].as_array().unwrap()) {
            let host = entry["url"].as_str().unwrap().split("//").nth(1).unwrap().to_owned();
            let line = format!("{host}\t{number}\t{slot}\n");
            let found = search_lines(&prefix).iter().any(|lines| lines.contains(&line));
            assert!(found, "search does not say {line:?}");
            assert!(hosts.insert(host));
        }
    }
    assert_eq!(manifest["hosts"].as_u64(), Some(hosts.len() as u64));
    hosts
}

fn search_lines(prefix: &Path) -> Vec<String> {
    let found = files(&prefix.join("search"));
    found.into_values().map(|bytes| format!("\n{}", String::from_utf8(bytes).unwrap())).collect()
}

/// No object below `scans/` names the host.
fn assert_gone(site: &Path, host: &str) {
    for (name, bytes) in files(&site.join("scans")) {
        let text = String::from_utf8_lossy(&bytes);
        // Names that end like this one are others.
        let lines = [format!("\n{host}\t"), format!("//{host}\"")];
        let names = lines.iter().any(|line| format!("\n{text}").contains(line));
        assert!(!names, "{name} names {host}");
    }
}

struct World {
    internet: Internet,
    database: Database,
}

impl World {
    fn new() -> Self {
        let internet = internet(60, Mix::none());
        let stores = Stores::folders(&internet, internet.folder.path());
        let database = Database::new(&internet, stores);
        Self { internet, database }
    }

    fn site(&self) -> std::path::PathBuf {
        self.internet.folder.path().join("site")
    }

    fn private(&self) -> String {
        self.internet.folder.path().join("private").display().to_string()
    }

    fn start(&self) -> String {
        self.database.start_scan(self.internet.crawl(), &["--private", &self.private()]);
        let status = self.database.status();
        status["scan"].as_str().unwrap_or_else(|| panic!("{status}")).to_owned()
    }

    fn work(&self) {
        run(self.database.worker(&["--exit-when-done"])).expect_code(0);
    }

    fn takedown(&self, host: &str) {
        let site = self.site().display().to_string();
        let private = self.private();
        let arguments = ["takedown", host, "--site", &site, "--private", &private];
        run(self.database.owner(&arguments)).expect_code(0);
    }
}

#[test]
fn a_host_taken_down_while_a_scan_runs_or_before_a_rollback_or_a_retry_stays_away() {
    let world = World::new();
    let first = world.start();
    world.work();
    let all = shown(&world.site());
    let mut names = all.iter();
    let (during, before_rollback) = (names.next().unwrap(), names.next().unwrap());
    let (blocked, before_retry) = (names.next().unwrap(), names.next().unwrap());

    let second = world.start();
    world.takedown(during);
    run(world.database.owner(&["blocklist", "add", blocked])).expect_code(0);
    assert_gone(&world.site(), during);
    world.work();
    assert_eq!(manifest(&world.site())["scan"], second.as_str());
    let now = shown(&world.site());
    assert_eq!(now.len(), all.len() - 2);
    assert!(!now.contains(during) && !now.contains(blocked), "{now:?}");
    assert_gone(&world.site(), during);

    // The published scan is the second; going back to the first brings back neither of both.
    world.takedown(before_rollback);
    assert_gone(&world.site(), before_rollback);
    run(world.database.owner(&["publish", "--scan", &first, "--force"])).expect_code(0);
    assert_eq!(manifest(&world.site())["scan"], first.as_str());
    for host in [during, before_rollback] {
        assert_gone(&world.site(), host);
    }
    run(world.database.owner(&["publish", "--scan", &second, "--force"])).expect_code(0);

    // All jobs that make bundles and search files are performed again.
    world.takedown(before_retry);
    world.database.psql(
        "select coordinator.reopen(2, array(select job_id from everytab.jobs
          where run = 2 and kind = 'bundle-shard'), 'test')",
    );
    world.work();
    let now = shown(&world.site());
    for host in [during, before_rollback, blocked, before_retry] {
        assert!(!now.contains(host), "{host}");
    }
    assert_gone(&world.site(), before_retry);
    assert_eq!(now.len(), all.len() - 4);
}

#[test]
fn a_suffix_or_a_title_of_the_private_list_reaches_a_new_database() {
    let world = World::new();
    fs::create_dir_all(world.private()).unwrap();
    let list = Path::new(&world.private()).join("blocklist.txt");
    fs::write(&list, "# old\ntitle:%\n").unwrap();
    let mut refused =
        world.database.owner(&["scan", "start", "--crawl", world.internet.crawl(), "--private"]);
    refused.arg(world.private()).args(world.database.stores.arguments());
    let refused = run(refused).expect_code(1);
    assert!(refused.stderr.contains("blocklist.txt"), "{}", refused.stderr);
    assert!(refused.stderr.contains("matches every title"), "{}", refused.stderr);

    fs::write(&list, "a.example\nsuffix:b.example # asked\ntitle:%casino%\n").unwrap();
    world.start();
    let listed = run(world.database.owner(&["blocklist", "list"])).expect_code(0).stdout;
    let kinds: Vec<&str> = listed.lines().map(|line| line.rsplit_once("\t20").unwrap().0).collect();
    assert_eq!(kinds, ["hostname\ta.example", "suffix\tb.example", "title\t%casino%"]);
}

#[test]
fn a_scan_that_would_shrink_the_site_is_not_published_and_says_what_to_run() {
    let world = World::new();
    let first = world.start();
    world.work();
    let before = shown(&world.site());
    // A rehearsal against the real site.
    world.database.start_scan(world.internet.crawl(), &["--limit", "20"]);
    let ended = run(world.database.worker(&["--exit-when-done"]));
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert_eq!(manifest(&world.site())["scan"], first.as_str());
    assert_eq!(shown(&world.site()), before);
    let status = run(world.database.owner(&["scan", "status"]));
    let scan = world.database.status()["scan"].as_str().unwrap().to_owned();
    let command = format!("everytab-worker publish --scan {scan} --force");
    assert!(status.stdout.contains("publish refused"), "{}", status.stdout);
    assert!(status.stdout.contains(&command), "{}", status.stdout);
    let refused = run(world.database.owner(&["publish", "--scan", &scan])).expect_code(1);
    assert!(refused.stderr.contains("more than a fifth"), "{}", refused.stderr);
    run(world.database.owner(&["publish", "--scan", &scan, "--force"])).expect_code(0);
    assert_eq!(manifest(&world.site())["scan"], scan.as_str());
    assert_eq!(shown(&world.site()).len(), 20);
}
