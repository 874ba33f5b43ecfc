//! Tests exclusions from a running scan: they are ordered by commit, workers learn of them, and
//! excluded hosts get no tab.

use everytab_coordinator::{JobKind, Output};
use serde_json::json;

use crate::setup::{Database, host, page, soon};

fn patterns(patterns: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    patterns.iter().map(|(kind, pattern)| (*kind, (*pattern).to_owned())).collect()
}

async fn known(database: &Database, scan: i32, after: i32) -> Vec<(i32, String)> {
    let rows = database.worker.load_exclusions(scan, after).await.unwrap();
    rows.into_iter().map(|row| (row.version, format!("{} {}", row.kind, row.pattern))).collect()
}

#[tokio::test]
async fn a_worker_learns_of_exclusions_after_the_last_one_that_it_knows() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    assert_eq!(known(&database, scan, 0).await, []);
    let first = patterns(&[("hostname", "b.page"), ("hostname", "a.page"), ("hostname", "a.page")]);
    assert_eq!(database.owner.exclude(scan, &first).await.unwrap(), Some(2));
    let second = patterns(&[("network", "192.0.2.0/24"), ("hostname", "a.page")]);
    assert_eq!(database.owner.exclude(scan, &second).await.unwrap(), Some(1));
    let all = ["hostname a.page", "hostname b.page", "network 192.0.2.0/24"].map(str::to_owned);
    let all: Vec<(i32, String)> = (1..).zip(all).collect();
    assert_eq!(known(&database, scan, 0).await, all);
    assert_eq!(known(&database, scan, 2).await, all[2..]);
    let blocked = database.owner.list_blocked().await.unwrap();
    let blocked: Vec<&str> = blocked.iter().map(|entry| entry.pattern.as_str()).collect();
    assert_eq!(blocked, ["a.page", "b.page"]);
    assert!(database.owner.cancel_run(scan).await.unwrap());
    assert_eq!(
        database.owner.exclude(scan, &patterns(&[("hostname", "c.page")])).await.unwrap(),
        None
    );
    let next = database.start(1).await;
    assert_eq!(known(&database, next, 0).await, [(1, "network 192.0.2.0/24".to_owned())]);
    assert!(database.owner.drop_scan(scan).await.unwrap());
}

#[tokio::test]
async fn concurrent_exclusions_get_versions_in_the_order_of_their_commits() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    let mut under_way = tokio::task::JoinSet::new();
    for n in 0..8 {
        let owner = database.owner.clone();
        under_way.spawn(async move {
            let pattern = vec![("hostname", format!("host-{n}.page"))];
            assert_eq!(owner.exclude(scan, &pattern).await.unwrap(), Some(1));
        });
    }
    let mut seen = Vec::new();
    while let Some(ended) = under_way.join_next().await {
        ended.unwrap();
        let after = seen.last().map_or(0, |(version, _): &(i32, String)| *version);
        seen.extend(known(&database, scan, after).await);
    }
    assert_eq!(seen, known(&database, scan, 0).await);
    assert_eq!(seen.len(), 8);
}

#[tokio::test]
async fn more_than_ten_thousand_exclusions_are_rejected_as_a_whole() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    let many: Vec<_> = (0..10_001).map(|n| ("hostname", format!("h{n}.page"))).collect();
    let refused = database.owner.exclude(scan, &many).await.unwrap_err();
    assert!(refused.to_string().contains("(10001)"), "{refused}");
    assert_eq!(known(&database, scan, 0).await, []);
}

#[tokio::test]
async fn an_excluded_host_has_no_tab_whenever_it_was_excluded() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let names = ["bad.page", "www.bad.page", "notbad.page", "alone.page", "late.page"];
    let lease = database.lease_one(JobKind::Warc).await;
    let pages = (0..).zip(names).map(|(host_no, name)| page(host_no, name)).collect();
    let stats = json!({"inputs": {}, "outcomes": {}});
    database.worker.complete(lease, &Output::Pages(pages), &stats, soon()).await.unwrap();
    database.work_on(&[JobKind::Icon]).await;
    let excluded = patterns(&[("suffix", "bad.page"), ("hostname", "alone.page")]);
    database.owner.exclude(scan, &excluded).await.unwrap();
    let hosts = database.worker.load_bundle_shard(scan, 0).await.unwrap();
    let blocked: Vec<bool> = hosts.iter().map(|host| host.blocked).collect();
    assert_eq!(blocked, [true, true, false, true, false]);
    database.work_on(&[JobKind::BundleShard, JobKind::Search, JobKind::Map]).await;
    let publish = database.lease_one(JobKind::Publish).await;
    let late = patterns(&[("hostname", "late.page"), ("suffix", "nowhere.page")]);
    database.owner.exclude(scan, &late).await.unwrap();
    assert_eq!(database.owner.rebundle_excluded(scan, &late).await.unwrap(), 1);
    assert!(!database.holds(publish.fence).await, "the old bundles would be published");
    let under_way = database.lease_one(JobKind::BundleShard).await;
    let blocked = database.worker.load_bundle_shard(scan, 0).await.unwrap();
    assert!(blocked.iter().all(|host| host.blocked == (host.hostname != "notbad.page")));
    // A running job may have loaded its hosts before this exclusion, so it must run again, too.
    let last = patterns(&[("suffix", "notbad.page")]);
    database.owner.exclude(scan, &last).await.unwrap();
    assert_eq!(database.owner.rebundle_excluded(scan, &last).await.unwrap(), 1);
    assert!(!database.holds(under_way.fence).await);
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
    database.assert_audited(scan).await;
    assert_eq!(database.owner.rebundle_excluded(scan, &last).await.unwrap(), 0);
}

#[tokio::test]
async fn a_page_of_an_excluded_host_is_not_read() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    let lease = database.lease_one(JobKind::Index).await;
    database.complete_hosts(lease, vec![host(0, 0)]).await;
    let name = database.worker.load_warc(scan, 0).await.unwrap().remove(0).hostname;
    database.owner.exclude(scan, &patterns(&[("hostname", &name)])).await.unwrap();
    assert!(database.worker.load_warc(scan, 0).await.unwrap().iter().all(|host| host.blocked));
}

#[tokio::test]
async fn the_host_of_a_url_has_no_port_and_no_last_dot() {
    let database = Database::new().await;
    let sql = "select bool_and(coordinator.host_of_url(url) is not distinct from host) and $1 = 0
                 from (values ('https://a.example/x:1/y', 'a.example'),
                              ('http://a.example:8443/', 'a.example'),
                              ('http://a.example./', 'a.example'),
                              ('http://192.0.2.1:81/', '192.0.2.1'),
                              ('http://[2001:db8::1]/', '[2001:db8::1]'),
                              ('http://[2001:db8::1]:8080/', '[2001:db8::1]')) as v (url, host)";
    assert!(database.value::<bool>(sql, 0).await);
}
