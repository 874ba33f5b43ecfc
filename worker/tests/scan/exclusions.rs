//! Tests excluding hosts, domains and networks while a scan runs.

use std::{
    fs,
    time::{Duration, Instant},
};

use everytab_testbed::{Mix, Settings};

use crate::{
    environment::{Database, Internet, Stores, internet_with},
    outcomes,
    setup::{Running, files, manifest, run, tabs, wait_for},
};

const HOSTS: u64 = 1_500;

fn asked(internet: &Internet) -> u64 {
    internet.running.counts().requests.values().sum()
}

#[test]
fn no_worker_sends_requests_to_an_excluded_network_and_its_icons_are_opted_out() {
    let internet = internet_with(|scratch| Settings {
        behaviours: Mix::none(),
        ..Settings::generated(7, HOSTS, scratch)
    });
    let out = internet.folder.path().join("out");
    let database = Database::new(&internet, Stores::folders(&internet, &out));
    database.start_scan(internet.crawl(), &[]);
    // At this rate the scan would take minutes.
    run(database.owner(&["scan", "set", "rate=40"])).expect_code(0);
    let workers: Vec<Running> =
        (0..2).map(|_| Running::start(database.worker(&["--exit-when-done"]))).collect();
    wait_for("some icons", || (asked(&internet) > 60).then_some(()));
    // All of this internet's sites.
    let excluded = run(database.owner(&["scan", "exclude", "127.0.0.0/8", "::1/128"]));
    let excluded_at = Instant::now();
    assert_eq!(excluded.expect_code(0).stdout, "network\t127.0.0.0/8\nnetwork\t::1/128\n");
    let (mut last, mut count) = (excluded_at, asked(&internet));
    let mut workers = workers;
    wait_for("the end of the scan", || {
        let now = asked(&internet);
        if now > count {
            (last, count) = (Instant::now(), now);
        }
        workers.iter_mut().all(Running::has_ended).then_some(())
    });
    let delay: Duration = last.duration_since(excluded_at);
    eprintln!("the last request came {:.2} s after the exclusion", delay.as_secs_f64());
    for worker in workers {
        worker.finish().expect_code(0);
    }
    // Each host has at least two icon URLs, so without the exclusion there would be twice as many
    // requests.
    assert!(count < HOSTS, "{count} requests");
    let opted_out = "select count(*) from everytab.icons where outcome = 'opted_out'";
    let opted_out: u64 = database.psql(opted_out).trim().parse().unwrap();
    assert!(opted_out > HOSTS, "{opted_out} opted out");
    outcomes::assert_totals(&out.join("site"));
    let listed = run(database.owner(&["scan", "exclude", "--list"])).expect_code(0);
    assert!(listed.stdout.contains("\tnetwork\t127.0.0.0/8\n"), "{}", listed.stdout);
    let late = run(database.owner(&["scan", "exclude", "a.page"])).expect_code(1);
    assert!(late.stderr.contains("takedown"), "{}", late.stderr);
}

#[test]
fn a_host_that_is_excluded_before_the_site_is_published_has_no_tab() {
    let internet = internet_with(|scratch| Settings {
        behaviours: Mix::none(),
        ..Settings::generated(7, 120, scratch)
    });
    let out = internet.folder.path().join("out");
    let database = Database::new(&internet, Stores::folders(&internet, &out));
    database.start_scan(internet.crawl(), &[]);
    // Hosts are excluded when everything except publishing is done.
    run(database.owner(&["scan", "pause", "--kind", "publish"])).expect_code(0);
    let mut first = Running::start(database.worker(&[]));
    let waits = "select count(*) from everytab.jobs where kind = 'publish' and state = 'pending'";
    wait_for("the publish job", || (database.psql(waits).trim() == "1").then_some(()));
    first.kill();
    let with_title =
        "select hostname from everytab.pages where title is not null order by 1 limit 2";
    let hosts = database.psql(with_title);
    let hosts: Vec<&str> = hosts.lines().collect();
    let has_tab = |host: &str| {
        let urls = [format!("https://{host}"), format!("http://{host}")];
        move |tab: &serde_json::Value| urls.iter().any(|url| tab["url"] == url.as_str())
    };
    let private = internet.folder.path().join("private");
    let list = internet.folder.path().join("list.txt");
    fs::write(&list, format!("# asked by mail\n.{}\n", hosts[1])).unwrap();
    let mut exclude = database.owner(&["scan", "exclude", hosts[0], "--reason", "a mail"]);
    exclude.arg("--file").arg(&list).arg("--private").arg(format!("file://{}", private.display()));
    let excluded = run(exclude).expect_code(0);
    assert_eq!(excluded.stdout, format!("hostname\t{}\nsuffix\t{}\n", hosts[0], hosts[1]));
    run(database.owner(&["scan", "resume", "--kind", "publish"])).expect_code(0);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let site = out.join("site");
    let shown = tabs(&site);
    assert_eq!(manifest(&site)["hosts"].as_u64(), Some(shown.len() as u64));
    assert!(shown.len() > 60, "{} tabs", shown.len());
    assert!(hosts.iter().all(|host| !shown.iter().any(has_tab(host))), "{hosts:?} have tabs");
    let lines =
        files(&site.join("scans")).into_iter().filter(|(name, _)| name.contains("/search/"));
    for (name, file) in lines {
        let text = String::from_utf8_lossy(&file);
        let is_listed =
            |host: &&str| text.lines().any(|line| line.starts_with(&format!("{host}\t")));
        assert!(!hosts.iter().any(is_listed), "{name} has one of {hosts:?}");
    }
    outcomes::assert_totals(&site);
    let kept_out = fs::read_to_string(private.join("blocklist.txt")).unwrap();
    assert_eq!(kept_out, format!("{} # a mail\nsuffix:{} # a mail\n", hosts[0], hosts[1]));
}
