//! Tests that crawls end exactly when they should, even with concurrent calls, and that limits are
//! never exceeded.

use chrono::Utc;
use everytab_coordinator::{CrawlCounts, CrawlStatus, CrawlVerb, FrontierHostRow};
use everytab_patience::until;
use serde_json::json;

use super::{
    checkpoint::manners,
    holder::{checkpoint, chunk, counts, new_crawl, rows_of_links},
};
use crate::{
    session::{Session, query},
    setup::Database,
};

async fn count(session: &Session, slot: i32, crawl: i32, [k, p, c, s, r]: [i64; 5]) -> String {
    let sql = "select coordinator.count_in_slot($1::int::smallint, $2, $3, $4, $5, '{}', '{}',
                                                '{}', '{}', $6, $7, 0, 0, 0)";
    let call = query(sql).bind(slot).bind(crawl).bind(k).bind(p).bind(c).bind(s).bind(r);
    call.value(session).await
}

async fn until_waiting(database: &Database, count: i64) {
    let sql = "select count(*) from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock'
                  and $1::bigint >= 0";
    let is_so = async || database.value::<i64>(sql, 0).await == count;
    until(&format!("{count} sessions that wait"), is_so).await;
}

#[tokio::test]
async fn the_second_of_two_concurrent_last_checkpoints_ends_the_crawl() {
    let database = Database::new().await;
    let (crawl, id) =
        database.start_crawl(None, &[1, 2], |number| number.try_into().unwrap()).await;
    let (a, b) = (database.session().await, database.session().await);
    assert_eq!(count(&a, 1, crawl, [1, 1, 0, 0, 1]).await, "open");
    assert_eq!(count(&b, 2, crawl, [1, 1, 0, 0, 1]).await, "open");
    a.run("begin").await;
    assert_eq!(count(&a, 1, crawl, [0, -1, 1, 0, 0]).await, "open");
    let (second, ()) = tokio::join!(count(&b, 2, crawl, [0, -1, 1, 0, 0]), async {
        until_waiting(&database, 1).await;
        a.run("commit").await;
    });
    assert_eq!(second, "ended");
    assert_eq!(database.ending(id).await, ("ended".into(), Some("empty".into()), true));
    assert_eq!(count(&a, 1, crawl, [1, 1, 0, 0, 1]).await, "closed");
    assert_eq!(count(&a, 77, crawl, [1, 1, 0, 0, 1]).await, "closed");
}

#[tokio::test]
async fn an_unread_link_keeps_its_crawl_open() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1], |_| 1).await;
    let session = database.session().await;
    assert_eq!(count(&session, 1, crawl, [1, 0, 1, 1, 1]).await, "open");
    assert_eq!(database.ending(id).await.0, "running");
    assert_eq!(count(&session, 2, crawl, [1, 1, 0, 0, 1]).await, "open");
    assert_eq!(count(&session, 2, crawl, [0, -1, 1, 0, 0]).await, "ended");
}

#[tokio::test]
async fn a_crawl_does_not_end_before_its_last_seeds() {
    let database = Database::new().await;
    let new = new_crawl(None);
    let crawl = database.owner.start_crawl(&new).await.unwrap();
    let rows = rows_of_links(crawl, &[1], |_| 1, false);
    assert!(database.owner.add_links(crawl, &rows, false).await.unwrap());
    let session = database.session().await;
    assert_eq!(count(&session, 1, crawl, [1, 0, 1, 0, 1]).await, "open");
    assert!(database.owner.add_links(crawl, &[], true).await.unwrap());
    assert_eq!(database.ending(new.id).await, ("ended".into(), Some("empty".into()), true));
    let (_, id) = database.start_crawl(None, &[], |_| 1).await;
    assert_eq!(database.ending(id).await.0, "ended");
}

#[tokio::test]
async fn a_cancel_waits_for_a_checkpoint_and_counts_the_remaining_urls() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1, 2, 3], |_| 1).await;
    let session = database.session().await;
    session.run("begin").await;
    assert_eq!(count(&session, 1, crawl, [3, 2, 1, 4, 3]).await, "open");
    let (moved, ()) = tokio::join!(database.owner.move_crawl(id, CrawlVerb::Cancel), async {
        until_waiting(&database, 1).await;
        session.run("commit").await;
    });
    assert_eq!(moved.unwrap().unwrap().ended_by.as_deref(), Some("cancel"));
    let status = database.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap();
    assert_eq!((status.known, status.captured, status.pending), (3, 1, 0));
    assert_eq!(status.left, json!({ "cancel": 2 }));
    assert_eq!(count(&session, 1, crawl, [1, 1, 0, 0, 0]).await, "closed");
    let resumed = database.owner.move_crawl(id, CrawlVerb::Resume).await.unwrap().unwrap();
    assert_eq!((resumed.state.as_str(), resumed.ended_by.as_deref()), ("ended", Some("cancel")));
    let nobody = uuid::Uuid::new_v4();
    assert_eq!(database.owner.move_crawl(nobody, CrawlVerb::Pause).await.unwrap(), None);
}

#[tokio::test]
async fn a_slot_that_is_new_to_a_crawl_cannot_count_after_its_end() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1], |_| 1).await;
    let (a, b) = (database.session().await, database.session().await);
    a.run("begin").await;
    a.run("select from everytab.crawls for no key update").await;
    let (word, ()) = tokio::join!(count(&b, 5, crawl, [1, 1, 0, 0, 1]), async {
        until_waiting(&database, 1).await;
        query("select coordinator.end_crawl($1, 'cancel')").bind(crawl).execute(&a).await;
        a.run("commit").await;
    });
    assert_eq!(word, "closed");
    assert_eq!(database.ending(id).await, ("ended".into(), Some("cancel".into()), true));
}

#[tokio::test]
async fn time_and_bytes_end_a_crawl() {
    let database = Database::new().await;
    let mut timed = new_crawl(None);
    timed.ends_at = Some(chrono::Utc::now() + chrono::Duration::hours(1));
    let mut sized = new_crawl(None);
    sized.max_store_bytes = Some(1_000);
    database.owner.start_crawl(&timed).await.unwrap();
    let sized_crawl = database.owner.start_crawl(&sized).await.unwrap();
    assert_eq!(database.worker.open_crawls().await.unwrap().len(), 2);
    database.run("update everytab.crawls set ends_at = now() where ends_at is not null").await;
    let leases = database.lease_all_slots("a").await;
    let mut stored = checkpoint(&leases[0], 1);
    let mut sums = counts(sized_crawl);
    sums.stored_bytes = 1_000;
    stored.counts = vec![sums];
    database.record_checkpoint(&stored).await;
    for left in [1, 0] {
        assert_eq!(database.worker.open_crawls().await.unwrap().len(), left);
    }
    assert_eq!(database.ending(timed.id).await.1.as_deref(), Some("time"));
    assert_eq!(database.ending(sized.id).await.1.as_deref(), Some("store"));
}

#[tokio::test]
async fn a_large_fleet_ends_an_overdue_crawl_although_few_calls_check_the_time() {
    let database = Database::new().await;
    let mut timed = new_crawl(None);
    timed.ends_at = Some(chrono::Utc::now() + chrono::Duration::hours(1));
    database.owner.start_crawl(&timed).await.unwrap();
    let workers = "insert into everytab.workers (worker, seen_at)
                   select 'worker-' || n, now() + interval '1 hour' from generate_series(1, 200) n";
    database.run(workers).await;
    database.run("update everytab.crawls set ends_at = now()").await;
    // On average, 10 of 200 calls check the time. The probability that none of 2,000 calls does is
    // below 10^-44.
    let mut calls = 1;
    while !database.worker.open_crawls().await.unwrap().is_empty() {
        calls += 1;
        assert!(calls < 2_000, "no call ended the overdue crawl");
    }
    assert_eq!(database.ending(timed.id).await.1.as_deref(), Some("time"));
}

#[tokio::test]
async fn pages_are_reserved_before_they_are_fetched_and_returned_if_unused() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(Some(10), &[1, 2], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    let reserve = |wanted| database.worker.reserve_pages(leases[3].fence, crawl, wanted);
    assert_eq!(reserve(100).await.unwrap(), Some(0));
    let mut first = checkpoint(&leases[3], 1);
    let mut sums = counts(crawl);
    (sums.known, sums.pending, sums.read) = (50, 50, 2);
    first.counts = vec![sums];
    first.chunks = vec![chunk(crawl, 7, 1, 50, vec![0])];
    first.hosts = vec![FrontierHostRow { host_hash: 7, ..manners("a.example") }];
    database.record_checkpoint(&first).await;
    let mut elsewhere = checkpoint(&leases[4], 1);
    elsewhere.counts = vec![CrawlCounts { known: 9, pending: 9, ..counts(crawl) }];
    elsewhere.chunks = vec![chunk(crawl, 8, 1, 9, vec![0])];
    elsewhere.hosts = vec![FrontierHostRow { host_hash: 8, ..manners("b.example") }];
    database.record_checkpoint(&elsewhere).await;
    let due = async || {
        let soon = Utc::now() + chrono::Duration::minutes(1);
        let due = database.worker.load_due_hosts(&[3, 4], soon, 10).await.unwrap();
        due.iter().map(|host| host.slot).collect::<Vec<_>>()
    };
    assert_eq!(due().await, [3, 4]);
    let mut got = Vec::new();
    while let Some(pages @ 1..) = reserve(100).await.unwrap() {
        got.push(pages);
    }
    assert_eq!(got, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    // Other slots cannot get a page. If their hosts were listed, they would be checked again and
    // again.
    assert_eq!(due().await, [3]);
    let mut second = checkpoint(&leases[3], 2);
    let mut sums = counts(crawl);
    (sums.pending, sums.captured, sums.pages, sums.given_back) = (-7, 7, 7, 1);
    second.counts = vec![sums];
    assert_eq!(database.record_checkpoint(&second).await, Vec::<i32>::new());
    assert_eq!(reserve(100).await.unwrap(), Some(1));
    let mut last = checkpoint(&leases[3], 3);
    let mut sums = counts(crawl);
    (sums.pending, sums.captured, sums.pages) = (-3, 3, 3);
    last.counts = vec![sums];
    assert_eq!(database.record_checkpoint(&last).await, [crawl]);
    let status = database.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap();
    assert_eq!((status.captured, status.ended_by.as_deref()), (10, Some("limit")));
    assert_eq!(status.left, json!({ "limit": 49 }));
}

/// Without these rows, listing crawls would add up the sums of all slots in all crawls.
#[tokio::test]
async fn the_sums_of_an_ended_crawl_are_stored() {
    let database = Database::new().await;
    let (crawl, id) = database.start_crawl(None, &[1, 2], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    for (slot, known) in [(3, 7), (4, 5)] {
        let mut one = checkpoint(&leases[slot], 1);
        one.counts = vec![CrawlCounts {
            known,
            pending: known - 4,
            captured: 1,
            failed: json!({ "http_404_410": 1 }),
            refused: json!({ "type_refused": 1 }),
            left: json!({ "host_dead": 1 }),
            links_refused: json!({ "scope": known, "depth": 1 }),
            stored_bytes: 1_000,
            ..counts(crawl)
        }];
        database.record_checkpoint(&one).await;
    }
    let status = async || database.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap();
    let open = status().await;
    database.owner.move_crawl(id, CrawlVerb::Cancel).await.unwrap();
    let session = database.session().await;
    let listed = || query("select * from coordinator.crawl_status(null)");
    assert_eq!(session.rows_read("crawl_slots", listed()).await, 0);
    let ended = status().await;
    assert_eq!((open.known, open.pending, ended.pending), (12, 4, 0));
    assert_eq!((ended.failed, &ended.failures), (2, &json!({ "http_404_410": 2 })));
    assert_eq!(ended.left, json!({ "host_dead": 2, "cancel": 4 }));
    assert_eq!(ended.links_refused, json!({ "scope": 12, "depth": 2 }));
    let sums =
        |of: &CrawlStatus| (of.known, of.captured, of.failed, of.stored_bytes, of.refused.clone());
    assert_eq!(sums(&ended), sums(&open));
}
