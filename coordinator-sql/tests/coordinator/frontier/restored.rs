//! Tests a restored database, whose transaction IDs another server assigned: each slot must still
//! read each of its links once.

use everytab_coordinator::{CheckpointResult, Contents};

use super::{
    holder::{checkpoint, counts, fetch, rows_of_links},
    links::{at, read, slot_of},
};
use crate::setup::Database;

/// Raises all recorded transaction IDs by a million, as if an older server had assigned them.
const OF_AN_OLDER_SERVER: &str = "
    update everytab.links set xid = (xid::text::bigint + 1000000)::text::xid8;
    create function pg_temp.later(pg_snapshot) returns pg_snapshot language sql as $$
        select format('%s:%s:%s', pg_snapshot_xmin($1)::text::bigint + 1000000,
                      pg_snapshot_xmax($1)::text::bigint + 1000000,
                      (select string_agg((x::text::bigint + 1000000)::text, ',' order by x)
                         from pg_snapshot_xip($1) x))::pg_snapshot $$;
    update everytab.slots set cursor = pg_temp.later(cursor),
                              urgent_cursor = pg_temp.later(urgent_cursor);";

#[tokio::test]
async fn after_a_restore_each_slot_reads_its_unread_links_once() {
    let database = Database::new().await;
    let (crawl, _) = database.start_crawl(None, &[5, 6, 5 + 256, 40], slot_of).await;
    let urgent = rows_of_links(crawl, &[5 + 512], slot_of, true);
    database.owner.add_links(crawl, &urgent, true).await.unwrap();
    let leases = database.lease_all_slots("a").await;
    let (ceiling, _) = read(&database, &[(5, at("1:1:"))]).await;
    let mut has_read = checkpoint(&leases[5], 1);
    has_read.cursor = Some(ceiling);
    database.record_checkpoint(&has_read).await;
    let later = rows_of_links(crawl, &[5 + 768], slot_of, false);
    database.owner.add_links(crawl, &later, true).await.unwrap();
    let health = async || database.worker.frontier_health().await.unwrap();
    assert!(!health().await.is_of_another_server);
    database.run(OF_AN_OLDER_SERVER).await;
    assert!(health().await.is_of_another_server);

    for epoch in 1..3 {
        assert_eq!(database.owner.begin_epoch().await.unwrap(), Some(epoch));
    }
    assert!(!health().await.is_of_another_server);
    let lost = database.worker.checkpoint_slot(&checkpoint(&leases[5], 2)).await.unwrap();
    assert_eq!(lost, CheckpointResult::Lost);
    let leases = database.lease_all_slots("b").await;
    assert_eq!(leases.len(), 256);
    assert!(leases.iter().all(|lease| lease.deaths == 0));
    let cursors: Vec<_> = [5, 6, 40].map(|slot| (slot, leases[5].cursors.clone())).to_vec();
    assert_eq!(leases[6].cursors, leases[5].cursors);
    let (ceiling, numbers) = read(&database, &cursors).await;
    assert_eq!(numbers, [6, 40, 5 + 512, 5 + 768]);
    let new = rows_of_links(crawl, &[5 + 1024], slot_of, false);
    database.owner.add_links(crawl, &new, true).await.unwrap();
    let slots = [5, 6, 40].map(|slot| (slot, at(&ceiling)));
    let (ceiling, numbers) = read(&database, &slots).await;
    assert_eq!(numbers, [5 + 1024]);
    let slots = [5, 6, 40].map(|slot| (slot, at(&ceiling)));
    assert_eq!(read(&database, &slots).await.1, Vec::<i32>::new());
}

#[tokio::test]
async fn fetches_contain_the_epoch_and_a_database_without_crawls_begins_none() {
    let database = Database::new().await;
    assert_eq!(database.owner.begin_epoch().await.unwrap(), None);
    let (crawl, _) = database.start_crawl(None, &[7], slot_of).await;
    let record = async |worker: &str, number: i32| {
        let leases = database.lease_all_slots(worker).await;
        let mut ends = checkpoint(&leases[7], 1);
        ends.counts.push(counts(crawl));
        ends.counts[0].known = 1;
        ends.counts[0].captured = 1;
        ends.fetches.push(fetch(crawl, number, "captured"));
        database.record_checkpoint(&ends).await;
    };
    record("a", 1).await;
    assert_eq!(database.owner.begin_epoch().await.unwrap(), Some(1));
    record("b", 2).await;
    let epochs = "select string_agg(epoch::text, ' ' order by id) from everytab.fetches
                   where crawl = $1";
    assert_eq!(database.value::<String>(epochs, crawl).await, "0 1");
}

#[tokio::test]
async fn a_database_that_has_only_crawls_is_not_empty_and_a_snapshot_keeps_its_links() {
    let database = Database::new().await;
    assert_eq!(database.owner.contents().await.unwrap(), Contents::EmptyTables);
    database.start_crawl(None, &[1], slot_of).await;
    assert_eq!(database.owner.contents().await.unwrap(), Contents::Scans);
    database.run("select coordinator.make_links_partition(100)").await;
    let all_read = "update everytab.slots set cursor = pg_current_snapshot(),
                                              urgent_cursor = pg_current_snapshot()";
    database.run(all_read).await;
    let mut snapshot = database.owner.snapshot().await.unwrap();
    assert_eq!(database.worker.drop_read_links().await.unwrap(), 0);
    let digests = snapshot.digests().await.unwrap();
    assert!(digests.iter().any(|digest| digest.table == "links_100"));
    snapshot.end().await.unwrap();
    assert_eq!(database.worker.drop_read_links().await.unwrap(), 1);
}
