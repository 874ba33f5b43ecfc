//! Tests listing why URLs failed and which pages linked to them, even in large crawls.

use std::collections::BTreeSet;

use everytab_coordinator::{CrawlCounts, FetchFilter, FetchPosition, Via};
use serde_json::json;
use uuid::Uuid;

use super::holder::{checkpoint, counts, fetch};
use crate::{session::query, setup::Database};

async fn found(database: &Database, id: Uuid, filter: &FetchFilter, limit: i32) -> Vec<i32> {
    let mut numbers = Vec::new();
    let mut next = Some(FetchPosition::default());
    while let Some(after) = next {
        let page = database.owner.crawl_fetches(id, after, limit, filter).await.unwrap();
        assert!(page.fetches.len() <= usize::try_from(limit).unwrap());
        let number = |url: &str| url.rsplit('/').next().unwrap().parse::<i32>().unwrap();
        numbers.extend(page.fetches.iter().map(|fetch| number(&fetch.url)));
        next = page.next;
    }
    numbers
}

#[tokio::test]
async fn failures_are_counted_by_outcome_and_add_up() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let record = async |number: i64, slot: usize, failed: serde_json::Value, known: i64| {
        let mut one = checkpoint(&leases[slot], number);
        one.counts = vec![CrawlCounts { known, pending: 1, failed, ..counts(crawl) }];
        database.record_checkpoint(&one).await;
    };
    record(1, 3, json!({ "timeout": 2, "dns_timeout": 1 }), 4).await;
    record(2, 3, json!({ "timeout": 5 }), 6).await;
    record(1, 4, json!({ "tls": 1 }), 2).await;
    let status = database.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap();
    assert_eq!((status.known, status.pending, status.failed), (12, 3, 9));
    assert_eq!(status.failures, json!({ "timeout": 7, "dns_timeout": 1, "tls": 1 }));
}

#[tokio::test]
async fn the_linking_page_is_listed_whether_or_not_its_fetch_is_recorded() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let mut one = checkpoint(&leases[3], 1);
    one.counts = vec![counts(crawl)];
    let seed = fetch(crawl, 1, "ok");
    let mut own = fetch(crawl, 2, "timeout");
    own.via = Some(Via::Recorded(seed.host_hash, seed.url_hash));
    own.certificate = Some("expired");
    let mut elsewhere = fetch(crawl, 3, "ok");
    elsewhere.host_hash = 8;
    elsewhere.via = Some(Via::Recorded(seed.host_hash, seed.url_hash));
    let mut unrecorded = fetch(crawl, 4, "ok");
    unrecorded.via = Some(Via::Url("https://example.com/robots.txt".into()));
    let mut unknown = fetch(crawl, 5, "ok");
    unknown.via = Some(Via::Recorded(99, 99));
    one.fetches = vec![seed, own, elsewhere, unrecorded, unknown];
    database.record_checkpoint(&one).await;
    database.owner.move_crawl(id, everytab_coordinator::CrawlVerb::Cancel).await.unwrap();
    let all = FetchFilter::default();
    let page = database.owner.crawl_fetches(id, FetchPosition::default(), 9, &all).await.unwrap();
    let vias: Vec<_> = page.fetches.iter().map(|fetch| fetch.via.as_deref()).collect();
    let (seed, robots) = ("https://example.com/1", "https://example.com/robots.txt");
    assert_eq!(vias, [None, Some(seed), Some(seed), Some(robots), None]);
    let faults: Vec<_> = page.fetches.iter().map(|fetch| fetch.certificate.as_deref()).collect();
    assert_eq!(faults, [None, Some("expired"), None, None, None]);
}

/// Without these filters, an operator needed 10,000 calls to find the failures among 10 million
/// pages.
#[tokio::test]
async fn fetches_are_found_by_outcome_host_and_status_without_reading_all_of_them() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1], |_| 3).await;
    let session = database.session().await;
    let sql = "insert into everytab.fetches (crawl, host_hash, url_hash, url, at, depth, status,
                                             outcome, slot, lease_number)
               select $1, case when n % 400 = 0 then 1 else 2 end # (1::bigint << 63),
                      n # (1::bigint << 63), 'https://example.com/' || n, now(), 0,
                      case when n % 10000 = 0 then 404 else 200 end,
                      case when n % 10000 = 0 then 'http_404_410' else 'ok' end, 3, 1
                 from generate_series(1, 120000) n";
    query(sql).bind(crawl).execute(&session).await;
    session.run("analyze everytab.fetches").await;
    database.owner.move_crawl(id, everytab_coordinator::CrawlVerb::Cancel).await.unwrap();
    let failed: Vec<i32> = (1..=12).map(|n| n * 10_000).collect();
    let of_host: BTreeSet<i32> = (1..=300).map(|n| n * 400).collect();
    let outcome = |name: &str| FetchFilter { outcome: Some(name.into()), ..FetchFilter::default() };
    let missing = outcome("http_404_410");
    let status = |status| FetchFilter { status: Some(status), ..FetchFilter::default() };
    let host = FetchFilter { host_hash: Some(1), ..FetchFilter::default() };
    let both = FetchFilter { status: Some(404), ..host.clone() };
    assert_eq!(found(&database, id, &missing, 5).await, failed);
    assert_eq!(found(&database, id, &status(404), 5).await, failed);
    assert_eq!(found(&database, id, &status(404), 100).await, failed);
    assert_eq!(found(&database, id, &outcome("timeout"), 100).await, [0; 0]);
    assert_eq!(found(&database, id, &status(500), 100).await, [0; 0]);
    assert_eq!(found(&database, id, &both, 100).await, failed);
    let found_host = found(&database, id, &host, 70).await;
    assert_eq!(found_host.len(), of_host.len());
    assert_eq!(found_host.into_iter().collect::<BTreeSet<_>>(), of_host);
    assert_eq!(found(&database, id, &outcome("ok"), 1_000).await.len(), 119_988);
    for (filter, most) in [
        ("'http_404_410', null, null", 12),
        ("'timeout', null, null", 0),
        ("null, (1::bigint << 63) + 1, null", 300),
        ("'ok', null, null", 1_000),
        // No index contains this status, so a call reads at most this many rows.
        ("null, null, 500::smallint", 50_000),
    ] {
        let call = format!("coordinator.crawl_fetches('{id}', 0::smallint, 0, 0, 1000, {filter})");
        let read = session.rows_read("fetches", query(format!("select * from {call}"))).await;
        assert!(read <= most + 5, "{filter}: {read} rows");
    }
}

#[tokio::test]
async fn a_report_counts_each_fetch_once_although_it_reads_in_parts() {
    let database = Database::new().await;
    let (crawl, _) = database.start_crawl(None, &[1], |_| 3).await;
    let session = database.session().await;
    let sql = "insert into everytab.fetches (crawl, host_hash, url_hash, url, at, depth, status,
                                             outcome, mime, slot, lease_number)
               select $1, (n % 7) # (1::bigint << 63), n # (1::bigint << 63),
                      'https://host-' || n % 7 || '.example:8080/' || n,
                      '2026-01-01 00:30:00+00'::timestamptz + make_interval(secs => n), n % 4,
                      case when n % 5 > 0 then 200 end,
                      case n % 5 when 0 then 'dns_timeout' when 1 then 'host_dead'
                                 when 2 then 'type_refused' else 'ok' end,
                      case when n % 5 > 2 then 'Text/HTML; charset=x' end, 3, 1
                 from generate_series(1, 210000) n";
    query(sql).bind(crawl).execute(&session).await;
    let mut sums = std::collections::BTreeMap::new();
    let mut next = Some(FetchPosition::default());
    let mut parts = 0;
    while let Some(after) = next {
        let part = database.owner.report_fetches(crawl, after).await.unwrap();
        for row in part.rows {
            let name = row.name.unwrap_or_default();
            *sums.entry((row.kind, name, row.ending, row.host_hash)).or_insert(0) += row.amount;
        }
        parts += 1;
        next = part.next;
    }
    assert_eq!(parts, 4, "two parts of 100,000, one of 10,000, and an empty one");
    let sum = |kind: &str, name: &str, ending: &str, host: Option<u64>| {
        sums.get(&(kind.to_owned(), name.to_owned(), ending.to_owned(), host)).copied()
    };
    assert_eq!(sum("outcome", "ok", "captured", None), Some(84_000));
    assert_eq!(sum("outcome", "host_dead", "left", None), Some(42_000));
    assert_eq!(sum("status", "200", "captured", None), Some(84_000));
    assert_eq!(sum("status", "", "failed", None), Some(42_000));
    assert_eq!(sum("type", "text/html", "captured", None), Some(84_000));
    assert_eq!(sum("depth", "3", "refused", None), Some(10_500));
    assert_eq!(sum("hour", "2026-01-01 01:00", "captured", None), Some(1_440));
    assert_eq!(sum("host", "dns_timeout", "failed", Some(3)), Some(6_000));
    assert_eq!(sum("host", "ok", "captured", Some(3)), None);
    for kind in ["outcome", "status", "type", "depth", "hour"] {
        let of_kind = sums.iter().filter(|((of, ..), _)| of == kind);
        assert_eq!(of_kind.map(|(_, amount)| amount).sum::<u64>(), 210_000, "{kind}");
    }
    let mut names = database.owner.hosts_of_fetches(crawl, &[3, 0, 99]).await.unwrap();
    names.sort_unstable();
    let name = |host: u64| (host, format!("host-{host}.example"));
    assert_eq!(names, [name(0), name(3)]);
}
