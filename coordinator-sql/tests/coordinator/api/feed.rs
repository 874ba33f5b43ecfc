//! Tests the feed: it lists each fetch once, in recording order, even if a transaction commits
//! late.

use everytab_coordinator::{ApiCaller, FeedPage, FeedPosition, FetchFilter, SlotLease};
use uuid::Uuid;

use super::service::{Service, code};
use crate::session::{Session, query};

impl Service {
    async fn page(
        &self,
        caller: &ApiCaller,
        id: Uuid,
        after: &FeedPosition,
        limit: i32,
    ) -> FeedPage {
        self.api.api_feed(caller, id, after, (limit, &FetchFilter::default()), 1).await.unwrap()
    }

    async fn has_news(&self, caller: &ApiCaller, id: Uuid, after: &FeedPosition) -> bool {
        self.api.api_feed_news(&[(caller, id, after)]).await.unwrap()[0]
    }
}

pub(super) fn urls(page: &FeedPage) -> Vec<i64> {
    page.fetches.iter().map(|fetch| fetch.id().url_hash.cast_signed()).collect()
}

async fn record_in(session: &Session, crawl: i32, lease: &SlotLease, urls: Vec<i64>) {
    let sql = "insert into everytab.fetches (crawl, host_hash, url_hash, url, at, depth, outcome,
                                             slot, lease_number, epoch)
               select $1, 7 # (1::bigint << 63), url # (1::bigint << 63),
                      'https://example.com/' || url, now(), 0, 'ok', $2::smallint, $3,
                      (select coalesce(max(epoch), 0) from everytab.restores)
                 from unnest($4) url";
    query(sql)
        .bind(crawl)
        .bind(i32::from(lease.fence.slot))
        .bind(lease.fence.lease_number)
        .bind(urls)
        .execute(session)
        .await;
}

#[tokio::test]
async fn a_page_continues_after_the_last_one() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let lease = service.lease("a").await;
    let seeds: Vec<u64> = (0..10).collect();
    let (crawl, number) = service.start(&caller, &seeds).await.unwrap();
    let (_, foreign) = service.start(&other, &seeds).await.unwrap();
    let empty = service.page(&caller, crawl.id, &FeedPosition::default(), 3).await;
    assert_eq!((urls(&empty), empty.has_more), (vec![], false));
    assert!(!service.has_news(&caller, crawl.id, &empty.next).await);
    service.capture(&lease, number, &[4, 2, 9]).await;
    service.capture(&lease, foreign, &[7]).await;
    service.capture(&lease, number, &[1]).await;
    assert!(service.has_news(&caller, crawl.id, &empty.next).await);
    let first = service.page(&caller, crawl.id, &empty.next, 3).await;
    assert_eq!((urls(&first), first.has_more), (vec![4, 2, 9], true));
    assert_eq!(first.fetches[0].url.as_deref(), Some("https://example.com/4"));
    assert_eq!(
        (first.fetches[0].state.as_str(), first.crawl_state.as_str()),
        ("captured", "running")
    );
    service.capture(&lease, number, &[3]).await;
    let second = service.page(&caller, crawl.id, &first.next, 3).await;
    assert_eq!((urls(&second), second.has_more), (vec![1], true));
    assert!(service.has_news(&caller, crawl.id, &second.next).await);
    let third = service.page(&caller, crawl.id, &second.next, 3).await;
    assert_eq!((urls(&third), third.has_more), (vec![3], false));
    assert!(!service.has_news(&caller, crawl.id, &third.next).await);
    assert_eq!(service.page(&caller, crawl.id, &first.next, 3).await.fetches, second.fetches);
    let all = service.page(&caller, crawl.id, &FeedPosition::default(), 1_000).await;
    assert_eq!(urls(&all), [4, 2, 9, 1, 3]);
    assert_eq!(service.capture(&lease, number, &[0, 5, 6, 7, 8]).await, [number]);
    assert!(service.has_news(&caller, crawl.id, &all.next).await);
    let last = service.page(&caller, crawl.id, &all.next, 1_000).await;
    assert_eq!((last.fetches.len(), last.has_more, last.crawl_state.as_str()), (5, false, "ended"));
    let tail = service.api.api_feed_tail(&caller, crawl.id, 3).await.unwrap();
    assert_eq!(urls(&tail), [6, 7, 8]);
    assert_eq!((tail.has_more, tail.crawl_state.as_str()), (false, "ended"));
    assert_eq!(urls(&service.page(&caller, crawl.id, &tail.next, 9).await), Vec::<i64>::new());
    let future = FeedPosition { epoch: 1, ..FeedPosition::default() };
    let refused =
        service.api.api_feed(&caller, crawl.id, &future, (1, &FetchFilter::default()), 1).await;
    assert_eq!(code(refused), "invalid_cursor");
}

/// A reader stops if a crawl has ended and `has_more` is false, so it would miss fetches that were
/// recorded during the pass.
#[tokio::test]
async fn has_more_is_true_if_fetches_were_recorded_during_a_pass() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    service.capture(&lease, number, &[1, 2, 3]).await;
    let mut page = service.page(&caller, crawl.id, &FeedPosition::default(), 2).await;
    service.capture(&lease, number, &[4, 5, 6]).await;
    let mut found = urls(&page);
    while page.has_more {
        page = service.page(&caller, crawl.id, &page.next, 2).await;
        found.extend(urls(&page));
    }
    assert_eq!(found, [1, 2, 3, 4, 5, 6]);
}

/// A client may use only a page's first fetches, because the rest is too large for a response.
#[tokio::test]
async fn reading_continues_after_any_fetch_of_a_page() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    let (late, later) = (service.database.session().await, service.database.session().await);
    for session in [&late, &later] {
        session.run("begin").await;
    }
    record_in(&late, number, &lease, vec![100, 101]).await;
    service.capture(&lease, number, &[1, 2, 3, 4]).await;
    record_in(&later, number, &lease, vec![200]).await;
    let page = service.page(&caller, crawl.id, &FeedPosition::default(), 9).await;
    assert_eq!((urls(&page), page.positions.len()), (vec![1, 2, 3, 4], 4));
    late.run("commit").await;
    service.capture(&lease, number, &[5]).await;
    later.run("commit").await;
    for (taken, position) in page.positions.iter().enumerate() {
        let mut found = urls(&page)[..=taken].to_vec();
        let mut after = position.clone();
        loop {
            let part = service.page(&caller, crawl.id, &after, 2).await;
            found.extend(urls(&part).first());
            match part.positions.first() {
                Some(first) => after = first.clone(),
                None if part.has_more => after = part.next,
                None => break,
            }
        }
        assert_eq!(found[..4], [1, 2, 3, 4]);
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 4, 5, 100, 101, 200], "{taken}");
    }
}

#[tokio::test]
async fn fetches_that_commit_late_are_listed_once() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    let (late, later) = (service.database.session().await, service.database.session().await);
    for session in [&late, &later] {
        session.run("begin").await;
    }
    record_in(&late, number, &lease, vec![100, 101]).await;
    service.capture(&lease, number, &[1, 2, 3]).await;
    record_in(&later, number, &lease, vec![200]).await;
    service.capture(&lease, number, &[4]).await;
    let first = service.page(&caller, crawl.id, &FeedPosition::default(), 2).await;
    assert_eq!(urls(&first), [1, 2]);
    late.run("commit").await;
    let second = service.page(&caller, crawl.id, &first.next, 2).await;
    assert_eq!((urls(&second), second.has_more), (vec![3, 4], true));
    let third = service.page(&caller, crawl.id, &second.next, 2).await;
    assert_eq!((urls(&third), third.has_more), (vec![], true));
    let fourth = service.page(&caller, crawl.id, &third.next, 1).await;
    assert_eq!((urls(&fourth), fourth.has_more), (vec![100], true));
    let fifth = service.page(&caller, crawl.id, &fourth.next, 9).await;
    assert_eq!((urls(&fifth), fifth.has_more), (vec![101], true));
    assert!(!service.has_news(&caller, crawl.id, &fifth.next).await);
    let tail = service.api.api_feed_tail(&caller, crawl.id, 3).await.unwrap();
    assert_eq!(urls(&tail), [2, 3, 4]);
    later.run("commit").await;
    assert_eq!(urls(&service.page(&caller, crawl.id, &tail.next, 9).await), [200]);
    assert!(service.has_news(&caller, crawl.id, &fifth.next).await);
    let last = service.page(&caller, crawl.id, &fifth.next, 9).await;
    assert_eq!(urls(&last), [200]);
    assert_eq!(urls(&service.page(&caller, crawl.id, &last.next, 9).await), Vec::<i64>::new());
}

/// Readers with different page sizes must each read all committed fetches once, despite overlapping
/// transactions and rollbacks.
#[tokio::test]
async fn concurrent_readers_read_each_fetch_once() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    let mut writers = Vec::new();
    for writer in 0..6_i64 {
        let session = service.database.session().await;
        session.run("begin").await;
        writers.push((writer, session));
    }
    let mut expected = Vec::new();
    let mut readers = [1, 3, 1_000].map(|limit| (limit, FeedPosition::default(), Vec::new()));
    for round in 0..60_i64 {
        let place = usize::try_from(round * 7 % 6).unwrap();
        let (writer, session) = &writers[place];
        let own: Vec<i64> = (0..=round % 4).map(|n| *writer * 100_000 + round * 10 + n).collect();
        record_in(session, number, &lease, own.clone()).await;
        let ends = usize::try_from(round * 5 % 7).unwrap() % 6;
        let (writer, session) = &writers[ends];
        let pending = query(
            "select url_hash # (1::bigint << 63) from everytab.fetches
              where xid = pg_current_xact_id()
                               and crawl = $1",
        )
        .bind(number);
        let pending: Vec<i64> = pending.column(session).await;
        if (round + *writer) % 4 == 3 {
            session.run("rollback; begin").await;
        } else {
            expected.extend(pending);
            session.run("commit; begin").await;
        }
        for (limit, after, read) in &mut readers {
            let page = service.page(&caller, crawl.id, after, *limit).await;
            read.extend(urls(&page));
            *after = page.next;
        }
    }
    expected.sort_unstable();
    assert!(expected.len() > 60);
    for (limit, after, read) in &mut readers {
        loop {
            let page = service.page(&caller, crawl.id, after, *limit).await;
            read.extend(urls(&page));
            *after = page.next;
            if !page.has_more && !service.has_news(&caller, crawl.id, after).await {
                break;
            }
        }
        read.sort_unstable();
        assert_eq!(read, &expected, "pages of {limit}");
    }
}

#[tokio::test]
async fn after_a_restore_the_rest_of_the_old_epoch_is_listed_first_and_each_fetch_once() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    service.capture(&lease, number, &[1, 2, 3]).await;
    // The positions are between two passes, in a pass during which a fetch commits late, and at the
    // start of the feed.
    let between = service.page(&caller, crawl.id, &FeedPosition::default(), 9).await.next;
    let late = service.database.session().await;
    late.run("begin").await;
    record_in(&late, number, &lease, vec![50]).await;
    service.capture(&lease, number, &[4, 5]).await;
    let middle = service.page(&caller, crawl.id, &FeedPosition::default(), 4).await;
    assert_eq!(urls(&middle), [1, 2, 3, 4]);
    late.run("commit").await;
    // The restored rows have higher transaction IDs than the new server.
    let newer = "update everytab.fetches set xid = (xid::text::bigint + 1000000)::text::xid8;
                 update everytab.links set xid = (xid::text::bigint + 1000000)::text::xid8;";
    service.database.run(newer).await;
    let shift = |text: &str| {
        let add = |id: &str| (id.parse::<u64>().unwrap() + 1_000_000).to_string();
        let parts: Vec<&str> = text.split(':').collect();
        let active = parts[2].split(',').filter(|id| !id.is_empty()).map(add);
        format!("{}:{}:{}", add(parts[0]), add(parts[1]), active.collect::<Vec<_>>().join(","))
    };
    let of_older_server = |position: &FeedPosition| FeedPosition {
        snapshot: if position.snapshot == "1:1:" {
            "1:1:".into()
        } else {
            shift(&position.snapshot)
        },
        ceiling: position.ceiling.as_deref().map(shift),
        xid: if position.xid == 0 { 0 } else { position.xid + 1_000_000 },
        ..position.clone()
    };
    assert_eq!(service.database.owner.begin_epoch().await.unwrap(), Some(1));
    let lease = service.lease("b").await;
    service.capture(&lease, number, &[6, 7]).await;
    let cases = [
        (of_older_server(&between), vec![50, 4, 5, 6, 7]),
        (of_older_server(&middle.next), vec![5, 50, 6, 7]),
        (FeedPosition::default(), vec![1, 2, 3, 50, 4, 5, 6, 7]),
    ];
    for (start, expected) in cases {
        for limit in [1, 2, 3, 100] {
            let mut after = start.clone();
            let mut read = Vec::new();
            loop {
                assert!(
                    read.len() >= expected.len()
                        || service.has_news(&caller, crawl.id, &after).await
                );
                let page = service.page(&caller, crawl.id, &after, limit).await;
                read.extend(urls(&page));
                after = page.next;
                if !page.has_more {
                    break;
                }
            }
            assert_eq!(read, expected, "pages of {limit} after {start:?}");
            assert_eq!(after.epoch, 1);
            assert!(!service.has_news(&caller, crawl.id, &after).await);
        }
    }
}

/// If fetches were ordered by transaction ID alone, a query for new fetches would have to read past
/// those from the server before the restore.
#[tokio::test]
async fn a_page_reads_only_its_own_fetches_despite_other_epochs() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    let session = service.database.session().await;
    record_in(&session, number, &lease, (1_000..4_000).collect()).await;
    session
        .run("update everytab.fetches set xid = (xid::text::bigint + 1000000)::text::xid8")
        .await;
    service.database.owner.begin_epoch().await.unwrap();
    record_in(&session, number, &lease, (0..20).collect()).await;
    session.run("vacuum analyze everytab.fetches").await;
    let secret = hex::encode(caller.secret_sha256);
    let key = &caller.key;
    let id = crawl.id;
    let after_restore = format!("'{key}', '\\x{secret}', '{id}', 1::smallint, '1:1:', null, 0, 0");
    let shown =
        format!("coordinator.crawl_fetches('{id}', 1::smallint, 0, 0, 10, null, null, null)");
    // Older transactions of other tests may delay when the fetches become visible.
    let all = format!("select count(*) from {shown}");
    while query(&all).value::<i64>(&service.database.pool).await < 10 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    for (asked, rows) in [
        (format!("api.feed_tail('{key}', '\\x{secret}', '{id}', 10)"), 10),
        (format!("api.feed_tail('{key}', '\\x{secret}', '{id}', 30)"), 30),
        (format!("api.feed({after_restore}, 10, 1, null, null, null)"), 10),
        (shown, 10),
    ] {
        let read = session.rows_read("fetches", query(format!("select * from {asked}"))).await;
        assert!(read <= rows + 5, "{asked}: {read} rows");
    }
}
