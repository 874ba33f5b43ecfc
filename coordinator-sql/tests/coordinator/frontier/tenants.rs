//! Tests owners' settings (rates and robots overrides), and how slot holders receive them.

use everytab_coordinator::{OpenCrawl, RateChange, RobotsOverrideRow};
use uuid::Uuid;

use super::holder::{checkpoint, counts, new_crawl, rows_of_links};
use crate::setup::Database;

async fn start_as(database: &Database, owner: &str) -> (i32, Uuid) {
    let new = everytab_coordinator::NewCrawl { owner: owner.into(), ..new_crawl(None) };
    let crawl = database.owner.start_crawl(&new).await.unwrap();
    let rows = rows_of_links(crawl, &[1], |_| 1, false);
    assert!(database.owner.add_links(crawl, &rows, true).await.unwrap());
    (crawl, new.id)
}

async fn open(database: &Database, crawl: i32) -> OpenCrawl {
    let all = database.worker.open_crawls().await.unwrap();
    all.into_iter().find(|open| open.crawl == crawl).unwrap()
}

#[tokio::test]
async fn open_crawls_include_the_rates_of_their_owner_and_their_own() {
    let database = Database::new().await;
    let (first, id) = start_as(&database, "a").await;
    let (second, _) = start_as(&database, "a").await;
    let (other, other_id) = start_as(&database, "b").await;
    let set =
        async |owner, id, change| database.owner.set_crawl_rate(owner, id, change).await.unwrap();
    assert!(set(Some("a"), None, RateChange::Rate(Some(2.5))).await);
    assert!(set(Some("a"), None, RateChange::MinDelay(Some(700))).await);
    assert!(set(Some("a"), Some(id), RateChange::Rate(Some(0.5))).await);
    let found = open(&database, first).await;
    assert_eq!((found.rate, found.min_delay_ms), (Some(0.5), None));
    assert_eq!((found.owner_rate, found.owner_min_delay_ms), (Some(2.5), Some(700)));
    let found = open(&database, second).await;
    assert_eq!((found.rate, found.owner_rate), (None, Some(2.5)));
    let found = open(&database, other).await;
    assert_eq!((found.rate, found.owner_rate, found.owner_min_delay_ms), (None, None, None));
    assert!(!set(Some("a"), Some(other_id), RateChange::Rate(Some(1.0))).await);
    assert!(set(None, Some(other_id), RateChange::MinDelay(Some(5))).await);
    assert_eq!(open(&database, other).await.min_delay_ms, Some(5));
    assert!(set(Some("a"), None, RateChange::Rate(None)).await);
    let found = open(&database, first).await;
    assert_eq!((found.owner_rate, found.owner_min_delay_ms), (None, Some(700)));
    for bad in [RateChange::Rate(Some(0.0)), RateChange::MinDelay(Some(-1))] {
        database.owner.set_crawl_rate(Some("a"), None, bad).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_rate_is_shared_by_all_live_workers_and_later_by_those_with_pending_urls() {
    let database = Database::new().await;
    let (crawl, id) = start_as(&database, "a").await;
    let rate = RateChange::Rate(Some(8.0));
    assert!(database.owner.set_crawl_rate(Some("a"), Some(id), rate).await.unwrap());
    for worker in ["w1", "w2", "w3", "w4"] {
        database.worker.renew_slots(worker, &[]).await.unwrap();
    }
    let leases = database.lease_all_slots("w1").await;
    assert_eq!(open(&database, crawl).await.holders, 4);
    let mut first = checkpoint(&leases[1], 1);
    let mut sums = counts(crawl);
    (sums.known, sums.pending, sums.read) = (1, 1, 1);
    first.counts = vec![sums];
    database.record_checkpoint(&first).await;
    database.run("update everytab.crawls set started_at = now() - interval '2 minutes'").await;
    assert_eq!(open(&database, crawl).await.holders, 1);
}

#[tokio::test]
async fn robots_overrides_belong_to_an_owner_and_are_loaded_while_it_has_an_open_crawl() {
    let database = Database::new().await;
    let (_, id) = start_as(&database, "a").await;
    let row = RobotsOverrideRow {
        id: Uuid::new_v4(),
        owner: "a".into(),
        site: Some("Example.com".into()),
        user_agent: Some("Googlebot".into()),
        rules: Some("Disallow: /private\nCrawl-delay: 5".into()),
        delay_ms: Some(1_000),
    };
    assert!(database.owner.add_robots_override(&row).await.unwrap());
    let other = RobotsOverrideRow { id: Uuid::new_v4(), owner: "b".into(), ..row.clone() };
    assert!(database.owner.add_robots_override(&other).await.unwrap());
    let kept = RobotsOverrideRow { site: Some("example.com".into()), ..row.clone() };
    let loaded = database.worker.load_robots_overrides().await.unwrap();
    assert_eq!(loaded, std::slice::from_ref(&kept));
    assert_eq!(database.owner.list_robots_overrides("a").await.unwrap(), [kept]);
    assert!(!database.owner.drop_robots_override("b", row.id).await.unwrap());
    for bad in [
        RobotsOverrideRow { user_agent: None, rules: None, delay_ms: None, ..row.clone() },
        RobotsOverrideRow { rules: Some("User-agent: *\nAllow: /".into()), ..row.clone() },
        RobotsOverrideRow { rules: Some("x".repeat(5_000)), ..row.clone() },
        RobotsOverrideRow { user_agent: Some("a b".into()), ..row.clone() },
        RobotsOverrideRow { delay_ms: Some(300_001), ..row.clone() },
    ] {
        let bad = RobotsOverrideRow { id: Uuid::new_v4(), ..bad };
        database.owner.add_robots_override(&bad).await.unwrap_err();
    }
    for _ in 1..64 {
        let more = RobotsOverrideRow { id: Uuid::new_v4(), ..row.clone() };
        assert!(database.owner.add_robots_override(&more).await.unwrap());
    }
    let more = RobotsOverrideRow { id: Uuid::new_v4(), ..row.clone() };
    assert!(!database.owner.add_robots_override(&more).await.unwrap());
    assert!(database.owner.drop_robots_override("a", row.id).await.unwrap());
    let cancel = everytab_coordinator::CrawlVerb::Cancel;
    database.owner.move_crawl(id, cancel).await.unwrap();
    assert_eq!(database.worker.load_robots_overrides().await.unwrap(), []);
}
