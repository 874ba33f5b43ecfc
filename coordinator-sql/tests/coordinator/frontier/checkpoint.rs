//! Tests checkpoints: each has a number, is recorded once, and is rejected if its counts do not add
//! up.

use chrono::{Duration, Utc};
use everytab_coordinator::{
    CheckpointResult, CrawlCounts, CrawlFetch, CrawlVerb, FetchFilter, FetchPosition,
    FrontierHostRow,
};
use everytab_patience::eventually;
use serde_json::json;
use uuid::Uuid;

use super::holder::{checkpoint, chunk, counts, fetch, rows_of_links};
use crate::{
    session::query,
    setup::{Database, until_someone_waits},
};

const HOST: u64 = u64::MAX;
const SITE: u64 = 5;

pub(super) fn manners(hostname: &str) -> FrontierHostRow {
    let soon = Utc::now() + Duration::hours(1);
    // Round down to microseconds, because Postgres stores times with this precision.
    let soon = soon - Duration::nanoseconds(i64::from(soon.timestamp_subsec_nanos() % 1_000));
    FrontierHostRow {
        host_hash: HOST,
        site_hash: SITE,
        hostname: hostname.into(),
        free_at: soon,
        delay_ms: 1_000,
        response_ms: 200,
        crawl_delay_ms: None,
        origins: None,
        robots: Some((b"robots".to_vec(), soon)),
        addresses: Some((vec!["192.0.2.1".into(), "2001:db8::1".into()], soon)),
    }
}

#[tokio::test]
async fn a_checkpoint_that_is_sent_twice_is_recorded_once() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1, 2], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let mut first = checkpoint(&leases[3], 1);
    let mut sums = counts(crawl);
    (sums.known, sums.pending, sums.captured, sums.read, sums.sent) = (2, 1, 1, 2, 1);
    first.counts = vec![sums];
    first.fetches = vec![fetch(crawl, 1, "captured")];
    first.links = rows_of_links(crawl, &[9], |_| 200, false);
    first.chunks = vec![chunk(crawl, HOST, 1, 1, b"chunk".to_vec())];
    first.hosts = vec![manners("example.com")];
    assert_eq!(database.record_checkpoint(&first).await, Vec::<i32>::new());
    let status = database.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap();
    assert_eq!(database.record_checkpoint(&first).await, Vec::<i32>::new());
    assert_eq!(database.owner.crawl_status(Some(id)).await.unwrap(), std::slice::from_ref(&status));
    assert_eq!((status.known, status.pending, status.captured), (2, 1, 1));
    assert_eq!((status.seeds, status.sent, status.read), (2, 1, 2));
    let fetched = listed(&database, id, FetchPosition::default(), 10, 1).await;
    let urls: Vec<&str> = fetched.iter().map(|fetch| fetch.url.as_str()).collect();
    assert_eq!(urls, ["https://example.com/1"]);
    assert_eq!(fetched[0].title.as_deref(), Some("a\u{fffd}b"));
    let error = database.worker.checkpoint_slot(&checkpoint(&leases[3], 3)).await.unwrap_err();
    assert_eq!(error.sqlstate(), Some("22023"));
    let stored = database
        .worker
        .load_host_chunks(&[(3, crawl, HOST), (3, crawl, 8), (4, crawl, HOST)])
        .await
        .unwrap();
    assert_eq!(stored.iter().map(|one| one.data.as_slice()).collect::<Vec<_>>(), [b"chunk"]);
    let due = Utc::now() + Duration::minutes(1);
    let hosts = database.worker.load_due_hosts(&[3, 4], due, 10).await.unwrap();
    assert_eq!(
        hosts.iter().map(|one| (one.crawl, one.host_hash)).collect::<Vec<_>>(),
        [(crawl, HOST)]
    );
    let sums = database.worker.load_slot_sums(&[3]).await.unwrap();
    assert_eq!((sums.len(), sums[0].pending, sums[0].reserved), (1, 1, 0));
}

/// Waits until at least `wanted` fetches are visible, because other tests' open transactions delay
/// a running crawl's fetches.
async fn listed(
    database: &Database,
    id: Uuid,
    after: FetchPosition,
    limit: i32,
    wanted: usize,
) -> Vec<CrawlFetch> {
    eventually(&format!("{wanted} fetches"), async || {
        let all = FetchFilter::default();
        let found = database.owner.crawl_fetches(id, after, limit, &all).await.unwrap().fetches;
        (found.len() >= wanted).then_some(found)
    })
    .await
}

#[tokio::test]
async fn an_archive_is_recorded_once_even_by_concurrent_checkpoints() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1, 2, 3], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let of_slot = |slot: usize, number: i32, objects: [&str; 2]| {
        let mut one = checkpoint(&leases[slot], 1);
        one.counts = vec![CrawlCounts { known: 2, captured: 2, ..counts(crawl) }];
        one.fetches = vec![fetch(crawl, number, "ok"), fetch(crawl, number + 1, "ok")];
        for (fetch, object) in one.fetches.iter_mut().zip(objects) {
            fetch.object = Some(object.into());
        }
        one.fetches[1].body_object = Some("a".into());
        one
    };
    let other = database.session().await;
    other.run("begin").await;
    let named = "insert into everytab.crawl_archives (crawl, object) values ($1, 'a'), ($1, 'b')";
    query(named).bind(crawl).execute(&other).await;
    let (first, second) = (of_slot(4, 10, ["b", "a"]), of_slot(5, 20, ["a", "c"]));
    let both = async {
        tokio::join!(database.record_checkpoint(&first), database.record_checkpoint(&second))
    };
    let over = async {
        until_someone_waits(&database).await;
        other.run("commit").await;
    };
    tokio::join!(both, over);
    let fetched = listed(&database, id, FetchPosition::default(), 10, 4).await;
    let mut objects: Vec<_> =
        fetched.iter().map(|one| (one.url.as_str(), one.object.as_deref().unwrap())).collect();
    objects.sort_unstable();
    let url = |number| format!("https://example.com/{number}");
    let expected = [(url(10), "b"), (url(11), "a"), (url(20), "a"), (url(21), "c")];
    assert_eq!(objects, expected.each_ref().map(|(url, object)| (url.as_str(), *object)));
    let sql = "select count(*) from everytab.crawl_archives where $1 = crawl";
    assert_eq!(database.value::<i64>(sql, crawl).await, 3);
}

#[tokio::test]
async fn a_list_of_fetches_includes_those_that_commit_late() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let mut number = 0;
    let mut record = async |urls: std::ops::Range<i32>| {
        number += 1;
        let mut one = checkpoint(&leases[3], number);
        one.counts = vec![counts(crawl)];
        one.fetches = urls.map(|url| fetch(crawl, url, "ok")).collect();
        database.record_checkpoint(&one).await;
    };
    let listed = async |after: FetchPosition, wanted| {
        let found = listed(&database, id, after, 2, wanted).await;
        let last = found.last().map_or(after, |fetch| fetch.position.parse().unwrap());
        let number = |url: &str| url.rsplit('/').next().unwrap().parse::<i32>().unwrap();
        (found.iter().map(|fetch| number(&fetch.url)).collect::<Vec<_>>(), last)
    };
    record(0..3).await;
    let late = database.session().await;
    late.run("begin").await;
    let sql = "insert into everytab.fetches (crawl, host_hash, url_hash, url, at, depth, outcome,
                                             slot, lease_number)
               values ($1, 9, 9, 'https://example.com/100', now(), 0, 'ok', 7, 1)";
    query(sql).bind(crawl).execute(&late).await;
    record(3..5).await;
    let (urls, after) = listed(FetchPosition::default(), 2).await;
    assert_eq!(urls, [0, 1]);
    let (urls, after) = listed(after, 1).await;
    assert_eq!(urls, [2]);
    late.run("commit").await;
    let (urls, after) = listed(after, 2).await;
    assert_eq!(urls, [100, 3]);
    // After a restore, new fetches sort behind all earlier ones, even if their transaction IDs are
    // lower.
    database.run("insert into everytab.restores (epoch) values (1)").await;
    database
        .run("update everytab.fetches set xid = (xid::text::bigint + 1000000)::text::xid8")
        .await;
    let after = FetchPosition { xid: after.xid + 1_000_000, ..after };
    record(5..7).await;
    let (urls, after) = listed(after, 2).await;
    assert_eq!(urls, [4, 5]);
    let (urls, after) = listed(after, 1).await;
    assert_eq!(urls, [6]);
    assert_eq!(listed(after, 0).await.0, Vec::<i32>::new());
}

#[tokio::test]
async fn host_state_that_a_checkpoint_omits_is_kept() {
    let database = Database::new().await;
    database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let first = manners("example.com");
    let mut one = checkpoint(&leases[3], 1);
    one.hosts = vec![first.clone()];
    database.record_checkpoint(&one).await;
    let mut two = checkpoint(&leases[3], 2);
    two.hosts =
        vec![FrontierHostRow { delay_ms: 2_000, robots: None, addresses: None, ..first.clone() }];
    database.record_checkpoint(&two).await;
    let loaded = database.worker.load_site_hosts(&[(3, SITE), (3, 1), (4, SITE)]).await.unwrap();
    assert_eq!(loaded, [(3, FrontierHostRow { delay_ms: 2_000, ..first })]);
}

#[tokio::test]
async fn a_snapshot_replaces_the_chunks_before_it() {
    let database = Database::new().await;
    let (crawl, _) = database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    for seq in 1..=4 {
        let mut one = checkpoint(&leases[3], seq.into());
        one.counts = vec![counts(crawl)];
        one.chunks = vec![chunk(crawl, HOST, seq, 1, vec![0])];
        one.chunks[0].is_snapshot = seq == 3;
        one.hosts = vec![manners("example.com")];
        database.record_checkpoint(&one).await;
    }
    let stored = database.worker.load_host_chunks(&[(3, crawl, HOST)]).await.unwrap();
    assert_eq!(stored.iter().map(|one| one.seq).collect::<Vec<_>>(), [3, 4]);
    let due = Utc::now() + Duration::minutes(1);
    assert_eq!(database.worker.load_due_hosts(&[3], due, 10).await.unwrap().len(), 1);
    let mut idle = checkpoint(&leases[3], 5);
    idle.counts = vec![counts(crawl)];
    idle.chunks = vec![chunk(crawl, HOST, 5, 0, vec![0])];
    idle.chunks[0].is_snapshot = false;
    database.record_checkpoint(&idle).await;
    assert_eq!(database.worker.load_due_hosts(&[3], due, 10).await.unwrap(), []);
}

/// A worker loads a limited number of due hosts, which must not contain hosts without pending URLs.
#[tokio::test]
async fn finished_hosts_and_paused_crawls_do_not_hide_due_hosts() {
    let database = Database::new().await;
    let (crawl, _) = database.start_crawl(None, &[1], |_| 3).await;
    let (resting, id) = database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let record = async |seq: i32, crawl: i32, pending: i32, hosts: std::ops::Range<u64>| {
        let mut one = checkpoint(&leases[3], seq.into());
        one.counts = vec![counts(crawl)];
        for host in hosts {
            let mut chunk = chunk(crawl, host, if pending > 0 { 1 } else { 2 }, pending, vec![0]);
            chunk.is_snapshot = pending > 0;
            one.chunks.push(chunk);
            let name = format!("{host}.example");
            one.hosts.push(FrontierHostRow { host_hash: host, ..manners(&name) });
        }
        database.record_checkpoint(&one).await;
    };
    record(1, crawl, 1, 10..20).await;
    record(2, resting, 1, 10..20).await;
    record(3, crawl, 0, 10..19).await;
    record(4, crawl, 1, 30..31).await;
    database.owner.move_crawl(id, CrawlVerb::Pause).await.unwrap();
    let due = Utc::now() + Duration::minutes(1);
    let hosts = database.worker.load_due_hosts(&[3, 4], due, 2).await.unwrap();
    let hosts: Vec<_> = hosts.iter().map(|one| (one.crawl, one.host_hash, one.pending)).collect();
    assert_eq!(hosts, [(crawl, 19, 1), (crawl, 30, 1)]);
}

#[tokio::test]
async fn the_due_time_of_a_host_is_written_only_if_it_changes() {
    let database = Database::new().await;
    let (crawl, _) = database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let mut place = String::new();
    for (seq, next_due, is_kept) in [
        (1, Utc::now(), false),
        (2, Utc::now() + Duration::milliseconds(5), true),
        (3, Utc::now() + Duration::hours(1), false),
        (4, Utc::now(), false),
        (5, Utc::now() + Duration::milliseconds(5), true),
    ] {
        let mut one = checkpoint(&leases[3], seq.into());
        one.counts = vec![counts(crawl)];
        one.chunks = vec![chunk(crawl, HOST, seq, 1, vec![0])];
        one.chunks[0].next_due = Some(next_due);
        one.hosts = vec![manners("example.com")];
        database.record_checkpoint(&one).await;
        let now: String = database
            .value(
                "select ctid::text || next_due from everytab.frontier_due where crawl = $1",
                crawl,
            )
            .await;
        assert_eq!(now == place, is_kept, "{seq}: {now}");
        place = now;
    }
}

#[tokio::test]
async fn finished_hosts_and_hosts_of_an_ended_crawl_do_not_hide_due_hosts() {
    let database = Database::new().await;
    let (ended, id) = database.start_crawl(None, &[1], |_| 3).await;
    let (crawl, _) = database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let mut number = 0;
    for (of, host, seq, pending) in [
        (ended, 1, 1, 1),
        (ended, 2, 1, 1),
        (crawl, 10, 1, 1),
        (crawl, 11, 1, 1),
        (crawl, 10, 2, 0),
        (crawl, 11, 2, 0),
        (crawl, HOST, 1, 1),
    ] {
        number += 1;
        let mut one = checkpoint(&leases[3], number);
        let mut sums = counts(of);
        (sums.known, sums.pending) = (1, 1);
        one.counts = vec![sums];
        one.chunks = vec![chunk(of, host, seq, pending, vec![0])];
        one.chunks[0].is_snapshot = false;
        let name = format!("h{host}.example.com");
        one.hosts = vec![FrontierHostRow { host_hash: host, ..manners(&name) }];
        database.record_checkpoint(&one).await;
    }
    database.owner.move_crawl(id, everytab_coordinator::CrawlVerb::Cancel).await.unwrap();
    let due = Utc::now() + Duration::minutes(1);
    let hosts = database.worker.load_due_hosts(&[3], due, 1).await.unwrap();
    assert_eq!(hosts.iter().map(|one| one.host_hash).collect::<Vec<_>>(), [HOST]);
}

#[tokio::test]
async fn a_checkpoint_with_wrong_sums_is_rejected_as_a_whole() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(Some(5), &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let before = database.owner.crawl_status(Some(id)).await.unwrap();
    let mut wrong = Vec::new();
    let mut lost_one = counts(crawl);
    (lost_one.known, lost_one.pending) = (2, 1);
    wrong.push(lost_one);
    let mut below_zero = counts(crawl);
    (below_zero.known, below_zero.pending) = (0, -1);
    below_zero.failed = json!({ "timeout": 1 });
    wrong.push(below_zero);
    let mut not_reserved = counts(crawl);
    (not_reserved.known, not_reserved.pending) = (2, 1);
    (not_reserved.captured, not_reserved.pages) = (1, 1);
    wrong.push(not_reserved);
    for sums in wrong {
        let mut one = checkpoint(&leases[3], 1);
        one.counts = vec![sums.clone()];
        one.fetches = vec![fetch(crawl, 1, "captured")];
        assert!(database.worker.checkpoint_slot(&one).await.is_err(), "{sums:?}");
    }
    let mut twice = checkpoint(&leases[3], 1);
    twice.counts = vec![counts(crawl)];
    twice.fetches = vec![fetch(crawl, 1, "captured"), fetch(crawl, 1, "captured")];
    let error = database.worker.checkpoint_slot(&twice).await.unwrap_err();
    assert_eq!(error.sqlstate(), Some("23505"));
    assert_eq!(database.owner.crawl_status(Some(id)).await.unwrap(), before);
    database.record_checkpoint(&checkpoint(&leases[3], 1)).await;
}

#[tokio::test]
async fn nothing_of_an_ended_crawl_is_recorded() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1, 2], |_| 3).await;
    let (other, _) = database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let mut first = checkpoint(&leases[3], 1);
    let mut sums = counts(crawl);
    (sums.known, sums.pending, sums.read) = (2, 2, 2);
    first.counts = vec![sums];
    database.record_checkpoint(&first).await;
    let moved = database.owner.move_crawl(id, CrawlVerb::Cancel).await.unwrap().unwrap();
    assert_eq!((moved.state.as_str(), moved.ended_by.as_deref()), ("ended", Some("cancel")));
    // The holder of slot 3 has not yet noticed that the crawl ended. Slot 4 has no row for this
    // crawl.
    for slot in [3, 4] {
        let mut late = checkpoint(&leases[slot], if slot == 3 { 2 } else { 1 });
        let mut sums = counts(crawl);
        (sums.captured, sums.pending, sums.sent) = (1, -1, 1);
        late.counts = vec![sums, counts(other)];
        late.fetches = vec![fetch(crawl, 1, "captured"), fetch(other, i32::from(slot == 3), "ok")];
        late.links = rows_of_links(crawl, &[9], |_| 200, false);
        late.chunks = vec![chunk(crawl, HOST, 1, 1, vec![0])];
        assert_eq!(database.record_checkpoint(&late).await, [crawl]);
        assert_eq!(database.record_checkpoint(&late).await, [crawl]);
    }
    let status = database.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap();
    assert_eq!((status.captured, status.pending, status.sent), (0, 0, 0));
    assert_eq!(status.left, json!({ "cancel": 2 }));
    for (table, of_other) in [("fetches", 2), ("links", 1), ("frontier_chunks", 0)] {
        let sql = format!("select count(*) from everytab.{table} where crawl = $1");
        let own: i64 = query(sql.clone()).bind(crawl).value(&database.pool).await;
        let others: i64 = query(sql).bind(other).value(&database.pool).await;
        assert_eq!((own, others), (i64::from(table == "links"), of_other), "{table}");
    }
    assert_eq!(database.worker.drop_ended_frontier(100).await.unwrap(), 0);
    assert!(!database.owner.add_links(crawl, &[], true).await.unwrap());
    let answer = database.worker.checkpoint_slot(&checkpoint(&leases[3], 3)).await.unwrap();
    assert_eq!(answer, CheckpointResult::Recorded { ended: Vec::new() });
}
