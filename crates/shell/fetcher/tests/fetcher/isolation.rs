//! Tests that isolated URLs are fetched one at a time, and recorded before their requests.

use std::sync::{Arc, Mutex};

use everytab_fetcher::{ItemIsolation, ItemJournal, Outcome, ShardOptions, fetch_shard};
use everytab_patience::SILENCE;
use futures_util::future::BoxFuture;

use super::{
    shards::{host, outcomes, spool},
    support::*,
};

/// `suspect` was the current item at two process deaths, and `crashed` at three.
#[derive(Default)]
struct TestJournal {
    checkpoints: Mutex<Vec<i64>>,
    suspect: Option<i64>,
    crashed: Option<i64>,
}

impl ItemJournal for TestJournal {
    fn deaths(&self, item: i64) -> u32 {
        match Some(item) {
            item if item == self.crashed => 3,
            item if item == self.suspect => 2,
            _ => 0,
        }
    }

    fn checkpoint_item(&self, item: i64) -> BoxFuture<'_, ()> {
        self.checkpoints.lock().expect("no panic").push(item);
        Box::pin(std::future::ready(()))
    }
}

fn isolated(net: &Net, journal: &Arc<TestJournal>) -> ShardOptions {
    ShardOptions { isolation: ItemIsolation::by(journal.clone()), ..net.options() }
}

#[tokio::test]
async fn isolation_gives_the_same_outcomes() {
    let mut net = Net::start(|asked| match asked.path.as_str() {
        path if path.starts_with("/slow") => Reply::SendAndHang(Vec::new()),
        path if path.starts_with("/no") => status("404 Not Found"),
        path => ok(&png(16, path.len() as u8)),
    })
    .await;
    for number in 0..4 {
        net.dns.point(&format!("h{number}.test"), "127.0.0.1");
    }
    net.settings.first_byte_timeout = SILENCE;
    let urls: Vec<String> = (0..4)
        .flat_map(|n| ["a", "slow1", "b", "c", "no"].map(|path| format!("http://h{n}.test/{path}")))
        .collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let free = fetch_shard(&net.fetcher(), vec![host(0, &urls)], spool(), net.options()).await;
    net.server.seen.most_at_once.lock().expect("no panic").clear();
    let journal = Arc::new(TestJournal::default());
    let one = isolated(&net, &journal);
    let one = fetch_shard(&net.fetcher(), vec![host(0, &urls)], spool(), one).await;
    assert_eq!(
        outcomes(&free.expect("no local failure")),
        outcomes(&one.expect("no local failure"))
    );
    let most = net.server.seen.most_at_once.lock().expect("no panic").values().max().copied();
    assert_eq!(most, Some(1), "one request at a time");
    let mut checkpoints = journal.checkpoints.lock().expect("no panic").clone();
    assert!(checkpoints.len() > urls.len(), "the later pass checkpoints as well");
    checkpoints.sort_unstable();
    checkpoints.dedup();
    assert_eq!(checkpoints, (0..urls.len() as i64).collect::<Vec<_>>());
}

#[tokio::test]
async fn suspects_are_fetched_first_and_crashed_items_are_not_fetched() {
    let net = Net::start(|_| ok(&png(16, 0))).await;
    let urls = ["a/1", "a/2", "b/1", "b/2"].map(|path| {
        let (host, path) = path.split_once('/').expect("a slash");
        format!("http://{host}.test/{path}")
    });
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    for (suspect, first) in [(1, [0, 1]), (3, [2, 3])] {
        let journal = Arc::new(TestJournal { suspect: Some(suspect), ..TestJournal::default() });
        let hosts = vec![host(0, &urls)];
        let shard = fetch_shard(&net.fetcher(), hosts, spool(), isolated(&net, &journal)).await;
        assert_eq!(outcomes(&shard.expect("no local failure")), [Outcome::Ok; 4]);
        assert_eq!(
            journal.checkpoints.lock().expect("no panic")[..2],
            first,
            "the URLs of its origin, in order"
        );
    }
    let before = net.server.seen.paths().len();
    let data = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E";
    for (crashed, urls) in [(2, &urls), (0, &vec![data])] {
        let journal = Arc::new(TestJournal { crashed: Some(crashed), ..TestJournal::default() });
        let hosts = vec![host(0, urls)];
        let shard = fetch_shard(&net.fetcher(), hosts, spool(), isolated(&net, &journal)).await;
        let outcomes = outcomes(&shard.expect("no local failure"));
        for (url_no, outcome) in outcomes.iter().enumerate() {
            let expected = if url_no as i64 == crashed { Outcome::Crashed } else { Outcome::Ok };
            assert_eq!(*outcome, expected, "{url_no}");
        }
        assert!(!journal.checkpoints.lock().expect("no panic").contains(&crashed));
    }
    assert_eq!(net.server.seen.paths().len(), before + 3);
}
