//! Tests loading a job's input: one capture per host, only from completed leases, with the
//! frozen blocklist.

use everytab_coordinator::{BundleRow, HostRow, JobKind, Output, WarcHost};
use serde_json::json;

use crate::{
    session::query,
    setup::{Database, host, hosts_counted, kinds_before, no_counts, page, soon, warc_path},
};

fn capture(https: bool, age: i64, name: &str, warc_offset: i64) -> HostRow {
    let base = host(42, 0);
    let fetch_time = base.fetch_time - chrono::Duration::seconds(age);
    HostRow { https, fetch_time, warc_path: warc_path(name), warc_offset, ..base }
}

async fn picked(database: &Database, captures: &[HostRow]) -> WarcHost {
    let scan = database.start(captures.len()).await;
    for lease in database.lease(JobKind::Index, 100).await {
        let row = captures[usize::try_from(lease.part).unwrap()].clone();
        database.complete_hosts(lease, vec![row]).await;
    }
    let shards = database.worker.load_scan(scan).await.unwrap().shards.unwrap();
    let mut hosts = Vec::new();
    for shard in 0..shards {
        hosts.extend(database.worker.load_warc(scan, shard).await.unwrap());
    }
    assert_eq!(hosts.len(), 1, "all captures are of one hostname");
    hosts.pop().unwrap()
}

#[tokio::test]
async fn the_choice_among_several_captures_does_not_depend_on_their_order() {
    let database = Database::new().await;
    let mut captures = vec![
        capture(true, 10, "a", 5),
        capture(true, 10, "a", 9),
        capture(true, 10, "b", 1),
        capture(true, 11, "A", 1),
        capture(false, 0, "A", 0),
    ];
    for dropped in 0..captures.len() {
        let best = captures[0].clone();
        for _ in 0..captures.len() {
            captures.rotate_left(1);
            let found = picked(&database, &captures).await;
            assert_eq!(
                (found.https, found.warc_path.as_str(), found.warc_offset),
                (best.https, best.warc_path.as_str(), best.warc_offset),
                "{dropped} better captures removed"
            );
            assert_eq!(usize::try_from(found.duplicates).unwrap(), captures.len() - 1);
        }
        captures.remove(0);
    }
}

#[tokio::test]
async fn captures_that_no_completed_lease_recorded_are_not_read() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    let mut leases = database.lease(JobKind::Index, 2).await;
    let (discarded, done) = (leases.pop().unwrap(), leases.pop().unwrap());
    for (file, lease_number, hash) in [(done.part, 0, 7), (done.part, 2, 8), (discarded.part, 1, 9)]
    {
        query(
            "with w as (insert into everytab.warc_files (path) values ('lost-' || $4)
             returning warc_file)
             insert into everytab.hosts select $1, $2, $3, $4, 'lost-' || $4, true, now(),
                 warc_file, 0, 1 from w",
        )
        .bind(scan)
        .bind(file)
        .bind(lease_number)
        .bind(i64::from(hash))
        .execute(&database.pool)
        .await;
    }
    database.complete_hosts(done, vec![host(1, 1)]).await;
    database.worker.discard(discarded, "bad", soon()).await.unwrap();
    let shards = database.worker.load_scan(scan).await.unwrap().shards.unwrap();
    let mut found = Vec::new();
    for shard in 0..shards {
        let hosts = database.worker.load_warc(scan, shard).await.unwrap();
        found.extend(hosts.into_iter().map(|host| host.hostname));
    }
    assert_eq!(found, ["host-1.example"]);
}

#[tokio::test]
async fn the_fullest_bundle_is_found_among_rows_of_completed_leases() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    assert_eq!(database.worker.most_tabs(scan).await.unwrap(), 0, "no bundle is recorded yet");
    database.work_on(&kinds_before(JobKind::BundleShard)).await;
    let mut leases = database.lease(JobKind::BundleShard, 3).await;
    let (one, other, discarded) =
        (leases.pop().unwrap(), leases.pop().unwrap(), leases.pop().unwrap());
    for (shard, lease_number, tabs) in [
        (one.part, one.fence.lease_number - 1, 900),
        (one.part, one.fence.lease_number + 1, 800),
        (discarded.part, discarded.fence.lease_number, 700),
    ] {
        let sql = "insert into everytab.bundles values
                     ($1, $2, $3, 0, 1, $4, 0, 1, decode(repeat('00', 32), 'hex'))";
        let row = query(sql).bind(scan).bind(shard).bind(lease_number).bind(tabs);
        row.execute(&database.pool).await;
    }
    assert_eq!(database.worker.most_tabs(scan).await.unwrap(), 0, "no lease is completed yet");
    for (lease, bundles, tabs) in [(one, 10, 41), (other, 4, 12)] {
        let (first_bundle, with_icon, bytes, digest) = (0, 0, 1, [0; 32]);
        let row = BundleRow { first_bundle, bundles, tabs, with_icon, bytes, digest };
        let output = Output::Bundles(row);
        database.worker.complete(lease, &output, &no_counts(), soon()).await.unwrap();
    }
    database.worker.discard(discarded, "bad", soon()).await.unwrap();
    assert_eq!(database.worker.most_tabs(scan).await.unwrap(), 5);
}

#[tokio::test]
async fn a_warc_file_that_two_index_files_name_is_recorded_once() {
    let database = Database::new().await;
    database.start(2).await;
    let running: Vec<_> = database
        .lease(JobKind::Index, 2)
        .await
        .into_iter()
        .map(|lease| {
            let worker = database.worker.clone();
            let hosts = (0..2_000_u32)
                .map(|n| {
                    let warc_path = warc_path(&format!("{:03}", (n * 7) % 100));
                    HostRow { warc_path, ..host(u64::from(n) << 40, n) }
                })
                .collect();
            tokio::spawn(async move {
                let stats = hosts_counted(2_000);
                worker.complete(lease, &Output::Hosts(hosts), &stats, soon()).await.unwrap()
            })
        })
        .collect();
    for completion in running {
        completion.await.unwrap();
    }
    let sql = "select count(*) from everytab.warc_files where $1 = 0";
    assert_eq!(database.value::<i64>(sql, 0).await, 100);
}

async fn blocked(database: &Database, scan: i32) -> Vec<bool> {
    let hosts = database.worker.load_warc(scan, 0).await.unwrap();
    hosts.into_iter().map(|host| host.blocked).collect()
}

#[tokio::test]
async fn a_scan_uses_the_blocklist_as_it_was_at_its_start() {
    let database = Database::new().await;
    database.owner.block("hostname", "exact.example", Some("asked")).await.unwrap();
    database.owner.block("suffix", "bad.example", None).await.unwrap();
    database.owner.block("suffix", "later-removed.example", None).await.unwrap();
    let settings = json!({"entries_per_bundle": 100});
    let scan = database.start_with(1, 300_000, settings).await;
    database.owner.block("hostname", "too-late.example", None).await.unwrap();
    assert!(database.owner.unblock("suffix", "later-removed.example").await.unwrap());
    assert!(!database.owner.unblock("suffix", "later-removed.example").await.unwrap());
    let names = [
        ("exact.example", true),
        ("www.exact.example", false),
        ("bad.example", true),
        ("www.bad.example", true),
        ("a.b.c.bad.example", true),
        ("notbad.example", false),
        ("bad.example.org", false),
        ("too-late.example", false),
        ("www.later-removed.example", true),
        ("example", false),
    ];
    let lease = database.lease_one(JobKind::Index).await;
    let rows = names
        .iter()
        .zip(0..)
        .map(|((name, _), n)| HostRow { hostname: (*name).into(), ..host(n.into(), n) })
        .collect();
    database.complete_hosts(lease, rows).await;
    let expected: Vec<bool> = names.iter().map(|(_, blocked)| *blocked).collect();
    assert_eq!(blocked(&database, scan).await, expected);
    let frozen = database.worker.load_blocklist(scan).await.unwrap();
    let frozen: Vec<(&str, &str)> =
        frozen.iter().map(|host| (host.kind.as_str(), host.pattern.as_str())).collect();
    let expected = [("suffix", "bad.example"), ("suffix", "later-removed.example")];
    assert_eq!(frozen, [&[("hostname", "exact.example")], &expected[..]].concat());
    let listed = database.owner.list_blocked().await.unwrap();
    let listed: Vec<&str> = listed.iter().map(|entry| entry.pattern.as_str()).collect();
    assert_eq!(listed, ["exact.example", "too-late.example", "bad.example"]);
}

#[tokio::test]
async fn bundling_gets_the_title_patterns_of_the_start_and_hosts_that_opted_out() {
    let database = Database::new().await;
    database.owner.block("title", "%casino%", None).await.unwrap();
    let scan = database.start_sharded(1).await;
    database.owner.block("title", "%garden%", None).await.unwrap();
    let mut rows = Vec::new();
    for (host_no, title) in
        (0..).zip([Some("A Garden"), Some("Best CASINO online"), None, Some("Opted out")])
    {
        let mut row = page(host_no, &format!("host-{host_no}.example"));
        row.title = title.map(str::to_owned);
        rows.push(row);
    }
    rows[3].outcome = "opted_out".into();
    rows.reverse();
    let lease = database.lease_one(JobKind::Warc).await;
    database.worker.complete(lease, &Output::Pages(rows), &no_counts(), soon()).await.unwrap();
    let icons = database.worker.load_icon(scan, 0).await.unwrap();
    assert_eq!(icons.iter().map(|host| host.host_no).collect::<Vec<_>>(), [0, 1, 2, 3]);
    database.work_on(&[JobKind::Icon]).await;
    let hosts = database.worker.load_bundle_shard(scan, 0).await.unwrap();
    let found: Vec<(i32, bool)> = hosts.iter().map(|host| (host.host_no, host.blocked)).collect();
    assert_eq!(found, [(0, false), (1, false), (2, false), (3, true)]);
    assert_eq!(database.worker.load_title_patterns(scan).await.unwrap(), ["%casino%"]);
    assert_eq!(hosts[0].archive_lease_number, Some(1));
}
