//! Tests that loading due hosts does not read the hosts of crawls that may not send requests.

use everytab_coordinator::CrawlVerb;
use serde_json::json;

use crate::{frontier::holder::new_crawl, session::query, setup::Database};

/// Starts a crawl with due hosts. A page limit is used up, and a large crawl without one is paused.
async fn crawl_with_hosts(database: &Database, page_limit: Option<i64>, hosts: i32) -> i32 {
    let mut crawl = new_crawl(page_limit);
    crawl.settings = json!({ "scope": "any", "media": "none" });
    let number = database.owner.start_crawl(&crawl).await.unwrap();
    for sql in [
        "insert into everytab.crawl_slots (crawl, slot, known, pending) select $1, 3, $2, $2",
        "insert into everytab.frontier_hosts (slot, host_hash, site_hash, free_at, delay_ms,
                                              response_ms, hostname)
         select 3, n, n, now(), 0, 0, n || '.test' from generate_series(1, $2) n, (select $1) c
             on conflict do nothing",
        "insert into everytab.frontier_chunks (slot, crawl, host_hash, seq, is_snapshot, known,
                                               pending, data)
         select 3, $1, n, 1, true, 1, 1, '' from generate_series(1, $2) n",
        "insert into everytab.frontier_due (slot, crawl, host_hash, next_due)
         select 3, $1, n, timestamptz '2026-01-01' + $1 * interval '1 day' + n * interval '1 ms'
           from generate_series(1, $2) n",
    ] {
        query(sql).bind(number).bind(hosts).execute(&database.pool).await;
    }
    if page_limit.is_some() {
        let sql = "update everytab.crawls set budget_left = 0 where crawl = $1";
        query(sql).bind(number).execute(&database.pool).await;
    } else if hosts > 1_000 {
        database.owner.move_crawl(crawl.id, CrawlVerb::Pause).await.unwrap();
    }
    number
}

/// The hosts of crawls that are paused or have no pages left are due earliest.
#[tokio::test]
async fn loading_due_hosts_does_not_read_paused_crawls_or_used_up_limits() {
    let database = Database::new().await;
    crawl_with_hosts(&database, Some(9), 5_000).await;
    crawl_with_hosts(&database, None, 5_000).await;
    let running = crawl_with_hosts(&database, None, 20).await;
    let also_running = crawl_with_hosts(&database, None, 30).await;
    let session = database.session().await;
    for is_analyzed in [false, true] {
        if is_analyzed {
            database.run("vacuum analyze everytab.frontier_due").await;
        }
        let due = || query("select * from coordinator.load_due_hosts('{3,4}', now(), 50000)");
        let rows = session.rows_read("frontier_due", due()).await;
        assert!((50..=110).contains(&rows), "{rows} rows, analyzed: {is_analyzed}");
    }
    let due = query(
        "select crawl, count(*) from coordinator.load_due_hosts('{3,4}', now(), 50000)
                      group by crawl order by crawl",
    );
    assert_eq!(due.rows::<(i32, i64)>(&session).await, [(running, 20), (also_running, 30)]);
}

#[tokio::test]
async fn each_crawl_has_its_share_of_the_loaded_hosts() {
    let database = Database::new().await;
    let large = crawl_with_hosts(&database, None, 900).await;
    let small = crawl_with_hosts(&database, None, 50).await;
    let session = database.session().await;
    let due = query(
        "select crawl, count(*) from coordinator.load_due_hosts('{3}', now(), 100)
                      group by crawl order by crawl",
    );
    assert_eq!(due.rows::<(i32, i64)>(&session).await, [(large, 50), (small, 50)]);
}
