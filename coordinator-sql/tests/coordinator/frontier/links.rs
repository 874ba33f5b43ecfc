//! Tests links between slots: each slot reads each of its links once, even if a transaction
//! commits late.

use everytab_coordinator::{LinkCursors, LinkLane, SlotLease};

use super::holder::{checkpoint, new_crawl, numbers_in, rows_of_links};
use crate::{session::query, setup::Database};

pub(crate) fn slot_of(number: i32) -> i16 {
    i16::try_from(number % 256).unwrap()
}

const START: &str = "0:0:-1";

/// Reads both lanes up to one ceiling, and returns it with the unread numbers.
pub(super) async fn read(
    database: &Database,
    cursors: &[(i16, LinkCursors)],
) -> (String, Vec<i32>) {
    let mut ceiling: Option<String> = None;
    let mut numbers = Vec::new();
    for lane in LinkLane::ALL {
        let from = ceiling.as_deref().map(|ceiling| (ceiling, START));
        let unread = database.worker.read_links(cursors, lane, from, 1_000).await.unwrap();
        assert_eq!(unread.more_after, None);
        for row in &unread.rows {
            let own = numbers_in(&row.data).into_iter();
            numbers.extend(own.filter(|number| row.slots.contains(&slot_of(*number))));
        }
        ceiling = Some(unread.ceiling);
    }
    numbers.sort_unstable();
    (ceiling.unwrap(), numbers)
}

fn cursors(leases: &[SlotLease]) -> Vec<(i16, LinkCursors)> {
    leases.iter().map(|lease| (lease.fence.slot, lease.cursors.clone())).collect()
}

pub(super) fn at(ceiling: &str) -> LinkCursors {
    LinkCursors { ordinary: ceiling.into(), urgent: ceiling.into() }
}

#[tokio::test]
async fn links_that_commit_late_are_read_without_delaying_others() {
    let database = Database::new().await;
    let crawl = database.owner.start_crawl(&new_crawl(None)).await.unwrap();
    let late = database.session().await;
    late.run("begin").await;
    let add = "select coordinator.add_links($1, false, array[
                   (null, 0, 32, false, 1, '[5]')::everytab.link_row])";
    query(add).bind(crawl).execute(&late).await;
    let mine = [(5, at("1:1:")), (6, at("1:1:"))];
    let (before, numbers) = read(&database, &mine).await;
    assert_eq!(numbers, Vec::<i32>::new());
    let (other, _) = database.start_crawl(None, &[6, 5 + 256], slot_of).await;
    assert!(other > crawl);
    let (ceiling, numbers) = read(&database, &[(5, at(&before)), (6, at(&before))]).await;
    assert_eq!(numbers, [6, 261]);
    late.run("commit").await;
    let (last, numbers) = read(&database, &[(5, at(&ceiling)), (6, at(&ceiling))]).await;
    assert_eq!(numbers, [5]);
    assert_eq!(read(&database, &[(5, at(&last)), (6, at(&last))]).await.1, Vec::<i32>::new());
    assert_eq!(read(&database, &[(5, at(&last)), (6, at("1:1:"))]).await.1, [6]);
}

#[tokio::test]
async fn many_rows_are_read_in_parts_below_one_ceiling() {
    let database = Database::new().await;
    let crawl = database.owner.start_crawl(&new_crawl(None)).await.unwrap();
    for number in 0..10 {
        let rows = rows_of_links(crawl, &[number * 37], slot_of, false);
        database.owner.add_links(crawl, &rows, number == 9).await.unwrap();
    }
    let slots: Vec<(i16, LinkCursors)> = (0..256).map(|slot| (slot, at("1:1:"))).collect();
    let mut numbers = Vec::new();
    let mut from: Option<(String, String)> = None;
    loop {
        let start = from.as_ref().map(|(ceiling, after)| (ceiling.as_str(), after.as_str()));
        let lane = LinkLane::Ordinary;
        let unread = database.worker.read_links(&slots, lane, start, 4).await.unwrap();
        for row in &unread.rows {
            numbers.extend(numbers_in(&row.data));
            assert_eq!(row.slots.len(), 1);
        }
        let Some(after) = unread.more_after else { break };
        from = Some((unread.ceiling, after));
        let (_, _) = database.start_crawl(None, &[3], slot_of).await;
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..10).map(|number| number * 37).collect::<Vec<_>>());
}

#[tokio::test]
async fn each_row_is_scanned_once() {
    let database = Database::new().await;
    let crawl = database.owner.start_crawl(&new_crawl(None)).await.unwrap();
    let fill = "insert into everytab.links
                    (hour, crawl, slot_group, slot_mask, is_urgent, amount, data)
                select coordinator.links_hour(), $1, n % 16, 1 << (n / 16 % 2), false, 1, '[0]'
                  from generate_series(0, 3199) n";
    let session = database.session().await;
    query(fill).bind(crawl).execute(&session).await;
    session.run("begin").await;
    let sql = "select ceiling, position from coordinator.read_links(
                   (select array_agg(n * 16)::smallint[] from generate_series(0, 15) n),
                   array_fill('1:1:'::text, array[16]), false, nullif($1, ''),
                   nullif($2, ''), 50)";
    let (mut ceiling, mut after) = (String::new(), String::new());
    let mut rows = 0;
    loop {
        let part = query(sql).bind(ceiling).bind(after);
        let mut part: Vec<(String, Option<String>)> = part.rows(&session).await;
        rows += part.len() - 1;
        let Some((top, Some(last))) = part.pop() else { break };
        (ceiling, after) = (top, last);
    }
    assert_eq!(rows, 1_600);
    let looked_at = "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
                       from pg_stat_xact_all_tables where relname like 'links%'";
    let looked_at: i64 = query(looked_at).value(&session).await;
    assert!((3_200..3_300).contains(&looked_at), "{looked_at}");
}

/// Disabling a plan step adds a large cost, so that Postgres compiles the plan (JIT). This took a
/// tenth of a second per call, a third of a crawl's server time.
#[tokio::test]
async fn functions_that_disable_sorting_also_disable_jit() {
    let database = Database::new().await;
    let compiled = "select coalesce(string_agg(proname, ' '), '') from pg_proc
                     where proconfig @> array['enable_sort=off']
                       and not proconfig @> array['jit=off'] and $1 = 0";
    assert_eq!(database.value::<String>(compiled, 0).await, "");
    let switched = "select count(*) from pg_proc
                     where proconfig @> array['enable_sort=off', 'jit=off'] and $1 = 0";
    // The functions are read_links, crawl_fetches, report_fetches, failed_urls, api.feed and
    // api.feed_tail.
    assert_eq!(database.value::<i64>(switched, 0).await, 6);
}

#[tokio::test]
async fn each_lane_is_read_with_its_own_cursor() {
    let database = Database::new().await;
    let crawl = database.owner.start_crawl(&new_crawl(None)).await.unwrap();
    for (number, is_urgent) in [(5, false), (261, true)] {
        let rows = rows_of_links(crawl, &[number], slot_of, is_urgent);
        database.owner.add_links(crawl, &rows, is_urgent).await.unwrap();
    }
    let read = async |lane, ordinary: &str, urgent: &str| {
        let cursors = LinkCursors { ordinary: ordinary.into(), urgent: urgent.into() };
        let unread = database.worker.read_links(&[(5, cursors)], lane, None, 9).await.unwrap();
        let numbers = unread.rows.iter().flat_map(|row| numbers_in(&row.data));
        (numbers.collect::<Vec<_>>(), unread.ceiling)
    };
    let none = "1:1:";
    let (numbers, ceiling) = read(LinkLane::Urgent, none, none).await;
    assert_eq!(numbers, [261]);
    assert_eq!(read(LinkLane::Ordinary, none, none).await.0, [5]);
    assert_eq!(read(LinkLane::Ordinary, none, &ceiling).await.0, [5]);
    assert_eq!(read(LinkLane::Urgent, &ceiling, none).await.0, [261]);
    assert_eq!(read(LinkLane::Urgent, none, &ceiling).await.0, Vec::<i32>::new());
}

#[tokio::test]
async fn partitions_are_dropped_when_every_slot_has_read_them() {
    let database = Database::new().await;
    let crawl = database.owner.start_crawl(&new_crawl(None)).await.unwrap();
    database.run("select coordinator.make_links_partition(100)").await;
    database
        .run(
            "insert into everytab.links
                 (hour, crawl, slot_group, slot_mask, is_urgent, amount, data)
             values (100, 1, 0, 1, false, 1, '[0]')",
        )
        .await;
    assert_eq!(database.worker.drop_read_links().await.unwrap(), 0);
    let rows = rows_of_links(crawl, &[1], slot_of, false);
    database.owner.add_links(crawl, &rows, true).await.unwrap();
    let leases = database.lease_all_slots("a").await;
    let (ceiling, _) = read(&database, &cursors(&leases)).await;
    for (n, lease) in leases.iter().enumerate() {
        let mut read_all = checkpoint(lease, 1);
        read_all.cursor = Some(ceiling.clone());
        read_all.urgent_cursor = (n > 0).then(|| ceiling.clone());
        database.record_checkpoint(&read_all).await;
    }
    assert_eq!(database.worker.drop_read_links().await.unwrap(), 0);
    let mut last = checkpoint(&leases[0], 2);
    last.urgent_cursor = Some(ceiling.clone());
    database.record_checkpoint(&last).await;
    assert_eq!(database.worker.drop_read_links().await.unwrap(), 1);
    let left = "select count(*) from everytab.links where crawl = $1";
    assert_eq!(database.value::<i64>(left, crawl).await, 1);
}
