//! Tests an operator's changes to a running crawl: more seeds and other limits.

use everytab_coordinator::{CrawlChange, CrawlChanged, CrawlVerb};

use super::holder::{checkpoint, counts, new_crawl, rows_of_links};
use crate::setup::Database;

#[tokio::test]
async fn a_crawl_waits_for_added_seeds_but_they_do_not_reopen_it() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1], |_| 1).await;
    let leases = database.lease_all_slots("a").await;
    let rows = rows_of_links(crawl, &[2, 3], |_| 1, true);
    assert!(database.owner.add_links(crawl, &rows, false).await.unwrap());
    let mut first = checkpoint(&leases[1], 1);
    let mut sums = counts(crawl);
    (sums.known, sums.captured, sums.read) = (1, 1, 1);
    first.counts = vec![sums];
    assert_eq!(database.record_checkpoint(&first).await, Vec::<i32>::new());
    let status = database.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap();
    assert_eq!((status.seeds, status.seeding, status.state.as_str()), (3, false, "running"));
    let mut second = checkpoint(&leases[1], 2);
    let mut sums = counts(crawl);
    (sums.known, sums.captured, sums.read) = (2, 2, 2);
    second.counts = vec![sums];
    assert_eq!(database.record_checkpoint(&second).await, [crawl]);
    assert_eq!(database.ending(id).await, ("ended".into(), Some("empty".into()), true));
    assert!(!database.owner.add_links(crawl, &rows, false).await.unwrap());
    assert!(!database.owner.add_links(crawl, &[], true).await.unwrap());
}

#[tokio::test]
async fn added_seeds_do_not_end_the_seeding() {
    let database = Database::new().await;
    let new = new_crawl(None);
    let crawl = database.owner.start_crawl(&new).await.unwrap();
    let rows = rows_of_links(crawl, &[1], |_| 1, true);
    assert!(database.owner.add_links(crawl, &rows, false).await.unwrap());
    database.owner.move_crawl(new.id, CrawlVerb::Pause).await.unwrap();
    assert!(database.owner.add_links(crawl, &rows, false).await.unwrap());
    let status = database.owner.crawl_status(Some(new.id)).await.unwrap().pop().unwrap();
    assert_eq!((status.seeds, status.seeding, status.state.as_str()), (2, true, "paused"));
}

#[tokio::test]
async fn a_limit_cannot_be_lowered_below_the_pages_in_use() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(Some(10), &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let mut first = checkpoint(&leases[3], 1);
    let mut sums = counts(crawl);
    (sums.known, sums.pending, sums.read) = (50, 50, 1);
    first.counts = vec![sums];
    database.record_checkpoint(&first).await;
    let reserved = database.worker.reserve_pages(leases[3].fence, crawl, 100).await.unwrap();
    assert_eq!(reserved, Some(2));
    let set = async |change| database.owner.set_crawl(id, change).await.unwrap();
    assert_eq!(set(CrawlChange::Limit(1)).await, CrawlChanged::Used(2));
    assert_eq!(set(CrawlChange::Limit(20)).await, CrawlChanged::Changed);
    let status = database.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap();
    assert_eq!((status.page_limit, status.budget_left), (Some(20), Some(18)));
    assert_eq!(set(CrawlChange::Limit(2)).await, CrawlChanged::Changed);
    assert_eq!(database.ending(id).await.0, "running");
    let mut second = checkpoint(&leases[3], 2);
    let mut sums = counts(crawl);
    (sums.pending, sums.captured, sums.pages) = (-2, 2, 2);
    second.counts = vec![sums];
    assert_eq!(database.record_checkpoint(&second).await, [crawl]);
    assert_eq!(database.ending(id).await, ("ended".into(), Some("limit".into()), true));
    assert_eq!(set(CrawlChange::Limit(20)).await, CrawlChanged::Ended);
}

#[tokio::test]
async fn a_limit_without_pages_left_ends_the_crawl_and_an_unlimited_crawl_gets_none() {
    let database = Database::new().await;
    let (_, unlimited) = database.start_crawl(None, &[1], |_| 3).await;
    let set = async |id, change| database.owner.set_crawl(id, change).await.unwrap();
    assert_eq!(set(unlimited, CrawlChange::Limit(5)).await, CrawlChanged::Unlimited);
    assert_eq!(set(uuid::Uuid::new_v4(), CrawlChange::Limit(5)).await, CrawlChanged::Unknown);
    let sql = "update everytab.crawls set page_limit = 5, budget_left = 2 where $1 = 0
               returning id";
    let id: uuid::Uuid = database.value(sql, 0).await;
    assert_eq!(set(id, CrawlChange::Limit(3)).await, CrawlChanged::Changed);
    assert_eq!(database.ending(id).await.1.as_deref(), Some("limit"));
}

#[tokio::test]
async fn time_and_bytes_of_a_running_crawl_are_changed() {
    let database = Database::new().await;
    let (_, id) = database.start_crawl(None, &[1], |_| 3).await;
    let set = async |change| database.owner.set_crawl(id, change).await.unwrap();
    let ends = "select coalesce(extract(epoch from ends_at - started_at)::bigint, 0)
                       || ' ' || coalesce(max_store_bytes, 0)
                  from everytab.crawls where $1 = 0";
    for (change, expected) in [
        (CrawlChange::Duration(Some(60)), "60 0"),
        (CrawlChange::MaxStoreBytes(Some(7)), "60 7"),
        (CrawlChange::Duration(None), "0 7"),
        (CrawlChange::MaxStoreBytes(None), "0 0"),
    ] {
        assert_eq!(set(change).await, CrawlChanged::Changed);
        assert_eq!(database.value::<String>(ends, 0).await, expected);
    }
}

#[tokio::test]
async fn a_crawl_is_found_by_its_name_or_the_start_of_its_id() {
    let database = Database::new().await;
    assert_eq!(database.owner.find_crawls(None).await.unwrap(), []);
    let (_, first) = database.start_crawl(None, &[1], |_| 3).await;
    let (_, second) = database.start_crawl(None, &[1], |_| 3).await;
    let found = async |text: Option<&str>| -> Vec<uuid::Uuid> {
        let found = database.owner.find_crawls(text).await.unwrap();
        found.into_iter().map(|crawl| crawl.id).collect()
    };
    assert_eq!(found(None).await, [second]);
    assert_eq!(found(Some("")).await, [second, first]);
    assert_eq!(found(Some(&first.to_string().to_uppercase())).await, [first]);
    assert_eq!(found(Some(&first.to_string()[..18])).await, [first]);
    assert_eq!(found(Some(&format!("LIVE-{first}"))).await, [first]);
    assert!(found(Some("%")).await.is_empty());
}
