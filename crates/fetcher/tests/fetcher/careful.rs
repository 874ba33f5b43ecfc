//! One URL at a time, each announced before it is asked for.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use everytab_fetcher::{Hand, Outcome, ShardOptions, SharedHand, fetch_shard};
use futures_util::future::BoxFuture;

use super::{
    shards::{host, outcomes, spool},
    support::*,
};

/// Notes what is announced; some URLs are suspects, one has crashed.
#[derive(Default)]
struct Notes {
    taken: Mutex<Vec<usize>>,
    suspect: Option<usize>,
    crashed: Option<usize>,
}

impl Hand for Notes {
    fn is_careful(&self) -> bool {
        true
    }

    fn is_suspect(&self, url_no: usize) -> bool {
        self.suspect == Some(url_no)
    }

    fn has_crashed(&self, url_no: usize) -> bool {
        self.crashed == Some(url_no)
    }

    fn take(&self, url_no: usize) -> BoxFuture<'_, ()> {
        self.taken.lock().expect("no panic").push(url_no);
        Box::pin(std::future::ready(()))
    }

    fn ended(&self) {}
}

fn careful(notes: &Arc<Notes>) -> ShardOptions {
    ShardOptions { hand: SharedHand(notes.clone()), ..ShardOptions::default() }
}

#[tokio::test]
async fn one_at_a_time_gives_the_outcomes_of_two_at_a_time() {
    let mut net = Net::start(|asked| match asked.path.as_str() {
        path if path.starts_with("/slow") => Reply::SendAndHang(Vec::new()),
        path if path.starts_with("/no") => status("404 Not Found"),
        path => ok(&png(16, path.len() as u8)),
    })
    .await;
    for number in 0..4 {
        net.dns.point(&format!("h{number}.test"), "127.0.0.1");
    }
    net.settings.first_byte_timeout = Duration::from_millis(300);
    let urls: Vec<String> = (0..4)
        .flat_map(|n| ["a", "slow1", "b", "c", "no"].map(|path| format!("http://h{n}.test/{path}")))
        .collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let free = ShardOptions::default();
    let free = fetch_shard(&net.fetcher(), vec![host(0, &urls)], spool(), free).await;
    net.server.seen.most_at_once.lock().expect("no panic").clear();
    let notes = Arc::new(Notes::default());
    let one = careful(&notes);
    let one = fetch_shard(&net.fetcher(), vec![host(0, &urls)], spool(), one).await;
    assert_eq!(outcomes(&free.expect("no trouble")), outcomes(&one.expect("no trouble")));
    let most = net.server.seen.most_at_once.lock().expect("no panic").values().max().copied();
    assert_eq!(most, Some(1), "to one host");
    let mut taken = notes.taken.lock().expect("no panic").clone();
    assert!(taken.len() > urls.len(), "the later pass announces as well");
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken, (0..urls.len()).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_suspect_comes_first_and_what_crashed_is_not_asked_for() {
    let net = Net::start(|_| ok(&png(16, 0))).await;
    let urls = ["a/1", "a/2", "b/1", "b/2"].map(|path| {
        let (host, path) = path.split_once('/').expect("a slash");
        format!("http://{host}.test/{path}")
    });
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    for (suspect, first) in [(1, [0, 1]), (3, [2, 3])] {
        let notes = Arc::new(Notes { suspect: Some(suspect), ..Notes::default() });
        let hosts = vec![host(0, &urls)];
        let shard = fetch_shard(&net.fetcher(), hosts, spool(), careful(&notes)).await;
        assert_eq!(outcomes(&shard.expect("no trouble")), [Outcome::Ok; 4]);
        assert_eq!(notes.taken.lock().expect("no panic")[..2], first, "its origin's, in order");
    }
    let before = net.server.seen.paths().len();
    let data = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E";
    for (crashed, urls) in [(2, &urls), (0, &vec![data])] {
        let notes = Arc::new(Notes { crashed: Some(crashed), ..Notes::default() });
        let hosts = vec![host(0, urls)];
        let shard = fetch_shard(&net.fetcher(), hosts, spool(), careful(&notes)).await;
        let outcomes = outcomes(&shard.expect("no trouble"));
        for (url_no, outcome) in outcomes.iter().enumerate() {
            let expected = if url_no == crashed { Outcome::Crashed } else { Outcome::Ok };
            assert_eq!(*outcome, expected, "{url_no}");
        }
        assert!(!notes.taken.lock().expect("no panic").contains(&crashed));
    }
    assert_eq!(net.server.seen.paths().len(), before + 3);
}
