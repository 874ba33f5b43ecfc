//! Tests that a removed host does not return: from a running scan, from an older scan, or from jobs
//! that run again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use everytab_testbed::Mix;
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores, internet},
    links, map,
    setup::{Running, files, manifest, run, tabs, wait_for},
};

/// Returns the hostnames in the bundles that the manifest names, and checks that search finds them.
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
            let line = format!("\n{host}\t{number}\t{slot}");
            // A rank and a title may follow.
            let is_said = |lines: &String| {
                ["\n", "\t"].iter().any(|end| lines.contains(&format!("{line}{end}")))
            };
            assert!(search_lines(&prefix).iter().any(is_said), "no search file contains {line:?}");
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

/// Fails if an object below `scans/` or a link page names the host.
fn assert_gone(site: &Path, host: &str) {
    assert_gone_below(&site.join("scans"), host);
    links::assert_not_linked(site, host);
}

fn assert_gone_below(folder: &Path, host: &str) {
    for (name, bytes) in files(folder) {
        let text = String::from_utf8_lossy(&bytes);
        // Match whole names, because other hostnames may end like this one.
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
        self.takedown_of(&[host]);
    }

    fn takedown_of(&self, pattern: &[&str]) {
        let site = self.site().display().to_string();
        let private = self.private();
        let arguments = ["--site", &site, "--private", &private];
        let arguments: Vec<&str> =
            ["takedown"].iter().chain(pattern).chain(&arguments).copied().collect();
        run(self.database.owner(&arguments)).expect_code(0);
    }

    fn work_until_published(&self) {
        self.work_until("publish");
    }

    /// Runs all jobs of the stages before this kind's.
    fn work_until(&self, kind: &str) {
        run(self.database.owner(&["scan", "pause", "--kind", kind])).expect_code(0);
        let mut worker = Running::start(self.database.worker(&[]));
        let waits = format!(
            "select bool_or(kind = '{kind}' and state = 'pending')
                    and not bool_or(kind < '{kind}' and state <> 'completed')
               from everytab.jobs where run = (select max(run) from everytab.runs)"
        );
        wait_for(kind, || (self.database.psql(&waits).trim() == "t").then_some(()));
        worker.kill();
        run(self.database.owner(&["scan", "resume", "--kind", kind])).expect_code(0);
    }

    /// Returns hosts that have a title, each with its best icon's SHA-256: first those with other
    /// icons to choose from, then those without, whose icons are unique.
    fn icons(&self, scan: i32) -> (Vec<[String; 2]>, Vec<[String; 2]>) {
        let lines = self.database.psql(&format!(
            "with used as (select host_no, shard, encode(sha256, 'hex') as sha256,
                                  row_number() over (partition by shard, host_no order by
                                    coordinator.icon_order(
                                      touch, content_type, width, height, bytes),
                                    url collate \"C\") as rank
                             from everytab.icons
                            where scan = {scan} and outcome = 'ok' and width > 2)
             select p.hostname, best.sha256,
                    count(distinct others.sha256) filter (where others.sha256 <> best.sha256)
               from used best
               join everytab.pages p on p.scan = {scan} and p.shard = best.shard
                and p.host_no = best.host_no and p.title is not null
               join used others on others.shard = best.shard and others.host_no = best.host_no
              where best.rank = 1 and (select count(distinct (u.shard, u.host_no)) from used u
                                        where u.sha256 = best.sha256) = 1
              group by 1, 2 order by 1"
        ));
        let of = |has_others: bool| {
            let lines = lines.lines().map(|line| line.split('|').collect::<Vec<_>>());
            let some = lines.filter(|fields| (fields[2] != "0") == has_others);
            some.map(|fields| [fields[0].to_owned(), fields[1].to_owned()]).collect()
        };
        (of(true), of(false))
    }
}

fn icons_shown(site: &Path) -> BTreeMap<String, String> {
    let host = |tab: &Value| tab["url"].as_str().unwrap().split("//").nth(1).unwrap().to_owned();
    tabs(site).iter().map(|tab| (host(tab), tab["icon"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn a_title_or_an_icon_that_is_blocked_after_the_bundles_were_made_is_not_published() {
    let world = World::new();
    world.start();
    world.work();
    let all = icons_shown(&world.site());
    let second = world.start();
    world.work_until_published();
    let (several, single) = world.icons(2);
    let ([by_database, sha256], [by_list, listed]) = (&several[0], &single[0]);
    let title = "select hostname, title from everytab.pages
        where scan = 2 and title is not null and hostname not in";
    let title = world.database.psql(&format!("{title} ('{by_database}', '{by_list}') limit 1"));
    let (by_title, title) = title.lines().next().unwrap().split_once('|').unwrap();
    let same_title = format!(
        "select hostname from everytab.pages where scan = 2 and title = '{}'",
        title.replace('\'', "''")
    );
    let same_title = world.database.psql(&same_title);
    let private = Path::new(&world.private()).join("blocklist.txt");
    fs::create_dir_all(world.private()).unwrap();
    fs::write(private, format!("sha256:{listed}\n")).unwrap();
    run(world.database.owner(&["blocklist", "add", "--sha256", sha256])).expect_code(0);
    let pattern = title.to_uppercase().replace('%', "\\%").replace('_', "\\_");
    run(world.database.owner(&["blocklist", "add", "--title", &pattern])).expect_code(0);
    world.work();
    assert_eq!(manifest(&world.site())["scan"], second.as_str());
    let now = shown(&world.site());
    let gone: BTreeSet<&str> =
        [&**by_database, by_list].into_iter().chain(same_title.lines()).collect();
    assert!(gone.contains(by_title));
    let expected: BTreeSet<String> =
        all.keys().filter(|host| !gone.contains(host.as_str())).cloned().collect();
    assert_eq!(now, expected);
    assert_eq!(tabs_with_icon(&world.site()), manifest(&world.site())["with_icon"]);
    for host in gone {
        let prefix = world.site().join("scans").join(&second);
        assert_gone_below(&prefix, host);
    }
}

#[test]
fn a_title_in_other_letters_than_ascii_is_blocked_in_any_case() {
    let world = World::new();
    run(world.database.owner(&["blocklist", "add", "--title", "%über%"])).expect_code(0);
    world.start();
    world.work_until("bundle-shard");
    let titled = "select hostname from everytab.pages where title is not null order by 1 limit 2";
    let titled = world.database.psql(titled);
    let [blocked, kept] = titled.lines().collect::<Vec<_>>()[..] else { panic!("{titled}") };
    for (host, title) in [(blocked, "ALLES ÜBER UNS"), (kept, "Alles uber uns")] {
        let set = format!("update everytab.pages set title = '{title}'");
        world.database.psql(&format!("{set} where hostname = '{host}'"));
    }
    world.work();
    let now = shown(&world.site());
    assert!(!now.contains(blocked) && now.contains(kept), "{now:?}");
}

fn tabs_with_icon(site: &Path) -> u64 {
    icons_shown(site).values().filter(|icon| !icon.is_empty()).count() as u64
}

#[test]
fn an_icon_that_is_blocked_before_the_start_gives_way_to_the_next_best_or_to_none() {
    let world = World::new();
    world.start();
    world.work();
    let before = icons_shown(&world.site());
    let (several, single) = world.icons(1);
    let ([with_other, first], [without, only]) = (&several[0], &single[0]);
    run(world.database.owner(&["blocklist", "add", "--sha256", first, only])).expect_code(0);
    world.start();
    world.work();
    let after = icons_shown(&world.site());
    assert_eq!(after.len(), before.len());
    assert!(!before[without].is_empty());
    assert_eq!(after[without], "");
    assert!(!after[with_other].is_empty());
    assert_ne!(after[with_other], before[with_other]);
    let changed: BTreeSet<&String> =
        before.iter().filter(|(host, icon)| after[*host] != **icon).map(|(host, _)| host).collect();
    assert_eq!(changed, BTreeSet::from([with_other, without]));
}

#[test]
fn an_icon_or_a_title_is_taken_down_with_only_the_published_files() {
    let world = World::new();
    world.start();
    world.work();
    let before = icons_shown(&world.site());
    let (several, single) = world.icons(1);
    let ([by_icon, sha256], [by_title, _]) = (&several[0], &single[0]);
    let title = "select title from everytab.pages where hostname";
    let title = world.database.psql(&format!("{title} = '{by_title}'"));
    // After a teardown, only the site and the private list remain.
    fs::remove_dir_all(world.internet.folder.path().join("archive")).unwrap();
    world.database.psql("drop schema everytab cascade");
    world.takedown_of(&["--sha256", sha256]);
    world.takedown_of(&["--title", title.trim()]);
    let gone = |host: &String| host == by_icon || host == by_title;
    let expected: BTreeSet<String> = before.into_keys().filter(|host| !gone(host)).collect();
    assert_eq!(shown(&world.site()), expected);
    for host in [by_icon, by_title] {
        assert_gone(&world.site(), host);
    }
    let list = fs::read_to_string(Path::new(&world.private()).join("blocklist.txt")).unwrap();
    assert_eq!(list, format!("sha256:{sha256}\ntitle:{}\n", title.trim()));
    world.takedown_of(&["--sha256", sha256]);
}

#[test]
fn an_overly_broad_pattern_or_a_malformed_list_line_removes_nothing_and_is_named() {
    let world = World::new();
    world.start();
    world.work();
    let all = shown(&world.site());
    let asked = all.first().unwrap();
    let top_level = asked.rsplit('.').next().unwrap();
    let below = format!("*.{top_level}");
    let site = world.site().display().to_string();
    let slips = [["--suffix", &below], ["--suffix", "*"], ["--title", "_%"], ["--title", "%_"]];
    for [kind, pattern] in slips {
        for command in [&["takedown", "--site", &site][..], &["blocklist", "add"]] {
            let refused = run(world.database.owner(&[command, &[kind, pattern]].concat()));
            let refused = refused.expect_code(2).stderr;
            assert!(refused.contains(&format!("{pattern:?}")), "{refused}");
        }
    }
    let excluded = run(world.database.owner(&["scan", "exclude", "*"])).expect_code(2);
    assert!(excluded.stderr.contains("\"*\" is not a hostname"), "{}", excluded.stderr);

    let list = Path::new(&world.private()).join("blocklist.txt");
    fs::create_dir_all(world.private()).unwrap();
    let lines = format!("suffix:{top_level}\nsha256:zz\nHTTP://x.example/\n{asked}\n");
    fs::write(&list, lines).unwrap();
    let said = run(world.database.owner(&["publish"])).expect_code(0).stderr;
    let names = |said: &str| {
        let named = [&format!("\"{top_level}\""), "zz", "HTTP://x.example/"];
        said.contains("3 lines") && named.iter().all(|line| said.contains(line))
    };
    assert!(names(&said), "{said}");
    let mut expected = all.clone();
    expected.remove(asked);
    assert_eq!(shown(&world.site()), expected);
    let host = expected.first().unwrap();
    let private = world.private();
    let takedown = ["takedown", host, "--site", &site, "--private", &private];
    let said = run(world.database.owner(&takedown)).expect_code(0).stderr;
    assert!(names(&said), "{said}");
    assert_eq!(shown(&world.site()).len(), all.len() - 2);
}

#[test]
fn a_rejected_publish_removes_no_tab() {
    let world = World::new();
    world.start();
    world.work();
    let before = shown(&world.site());
    // More than a fifth of the titles contain this letter.
    run(world.database.owner(&["blocklist", "add", "--title", "%e%"])).expect_code(0);
    let refused = run(world.database.owner(&["publish"])).expect_code(1);
    assert!(refused.stderr.contains("would lose more than 20 %"), "{}", refused.stderr);
    assert_eq!(shown(&world.site()), before);
    run(world.database.owner(&["publish", "--force"])).expect_code(0);
    assert!(shown(&world.site()).len() * 5 < before.len() * 4);
}

#[test]
fn a_scan_that_cannot_be_searched_for_an_icon_is_named_and_the_others_lose_it() {
    let world = World::new();
    let without_list = world.start();
    world.work();
    let (several, _) = world.icons(1);
    let [host, sha256] = &several[0];
    let older = world.site().join("scans").join(without_list);
    fs::remove_dir_all(older.join("icons")).unwrap();
    world.start();
    world.work();
    let site = world.site().display().to_string();
    let private = world.private();
    let arguments = ["takedown", "--sha256", sha256, "--site", &site, "--private", &private];
    let ended = run(world.database.owner(&arguments)).expect_code(1);
    assert!(ended.stderr.contains("has no icon list for bundle 0"), "{}", ended.stderr);
    assert!(ended.stdout.contains(&format!("{host}\ttaken down\tbundle ")), "{}", ended.stdout);
    assert!(!shown(&world.site()).contains(host));
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

    // The second scan is published. Returning to the first one must restore neither host.
    world.takedown(before_rollback);
    assert_gone(&world.site(), before_rollback);
    run(world.database.owner(&["publish", "--scan", &first, "--force"])).expect_code(0);
    assert_eq!(manifest(&world.site())["scan"], first.as_str());
    for host in [during, before_rollback] {
        assert_gone(&world.site(), host);
    }
    run(world.database.owner(&["publish", "--scan", &second, "--force"])).expect_code(0);

    // Run all jobs again that write bundles and search files.
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
fn a_host_taken_down_between_drawing_and_publishing_is_not_in_the_map() {
    let world = World::new();
    world.start();
    world.work();
    let host = shown(&world.site()).pop_first().unwrap();
    let second = world.start();
    // The tiles are drawn, but the map's index is not written yet.
    world.work_until_published();
    let prefix = world.site().join("scans").join(&second);
    assert!(prefix.join("map/0/0-0.jpg").exists() && !prefix.join("map/index.json").exists());
    world.takedown(&host);
    assert_eq!(files(&prefix.join("map/repaint")).len(), 1);
    world.work();
    assert_eq!(manifest(&world.site())["scan"], second.as_str());
    assert!(!icons_shown(&world.site()).contains_key(&host));
    map::assert_shown(&world.site());
}

#[test]
fn a_map_that_is_drawn_again_shows_no_host_that_was_taken_down_since() {
    let world = World::new();
    let first = world.start();
    world.work();
    let mut names = shown(&world.site()).into_iter();
    let [while_live, while_older, blocked] = [(); 3].map(|()| names.next().unwrap());
    world.takedown(&while_live);
    // This host is only blocked, so publishing the scan again removes it.
    run(world.database.owner(&["blocklist", "add", &blocked])).expect_code(0);
    run(world.database.owner(&["publish", "--scan", &first])).expect_code(0);
    let second = world.start();
    world.work();
    assert_eq!(manifest(&world.site())["scan"], second.as_str());
    world.takedown(&while_older);
    let prefix = world.site().join("scans").join(&first);
    assert!((1..=3).contains(&files(&prefix.join("map/repaint")).len()));

    // In the archive, the parts of the map still contain the three icons.
    let retry = ["scan", "retry", "--scan", &first, "--kind", "map"];
    assert_eq!(
        run(world.database.owner(&retry)).expect_code(0).stdout,
        "4 jobs will be done again\n"
    );
    // The publish job is rejected, because the second scan is published.
    world.work();
    assert_eq!(manifest(&world.site())["scan"], second.as_str());
    run(world.database.owner(&["publish", "--scan", &first, "--force"])).expect_code(0);
    assert_eq!(manifest(&world.site())["scan"], first.as_str());
    let now = icons_shown(&world.site());
    for host in [while_live, while_older, blocked] {
        assert!(!now.contains_key(&host), "{host}");
    }
    map::assert_shown(&world.site());
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
    // A small test scan uses the real site's store.
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
    let lost = format!("20 tabs instead of {}", before.len());
    assert!(refused.stderr.contains(&lost), "{}", refused.stderr);
    run(world.database.owner(&["publish", "--scan", &scan, "--force"])).expect_code(0);
    assert_eq!(manifest(&world.site())["scan"], scan.as_str());
    assert_eq!(shown(&world.site()).len(), 20);
}
