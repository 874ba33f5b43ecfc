//! Tests exclusions that are added while a shard is fetched, and requests that are held back.

use std::time::Duration;

use everytab_fetcher::{Exclusion, Exclusions, Outcome, RobotsPolicy, ShardOptions, fetch_shard};
use everytab_patience::{in_time, until};

use super::{
    shards::{host, outcomes, spool},
    support::*,
};

const POLL: Duration = Duration::from_millis(5);

/// The server sends no response for `/slow`, or for the robots.txt of `c.test`. Returns the
/// outcomes and the requested paths.
async fn excluded_meanwhile(
    urls: &[&str],
    exclusion: Exclusion,
    robots: RobotsPolicy,
) -> (Vec<Outcome>, Vec<String>) {
    let mut net = Net::start(|asked| match asked.path.as_str() {
        "/slow" => Reply::SendAndHang(Vec::new()),
        "/moved" => redirect("http://b.test/slow"),
        "/robots.txt" if asked.host == "c.test" => Reply::SendAndHang(Vec::new()),
        "/robots.txt" => status("404 Not Found"),
        _ => ok(&png(16, 0)),
    })
    .await;
    net.robots = robots;
    net.settings.first_byte_timeout = Duration::from_secs(600);
    net.settings.total_timeout = Duration::from_secs(600);
    net.dns.point("c.test", "127.0.0.1");
    let exclusions = Exclusions::default();
    let options = ShardOptions { exclusions: exclusions.clone(), ..net.options() };
    let fetcher = net.fetcher();
    let fetch = fetch_shard(&fetcher, vec![host(0, urls)], spool(), options);
    let exclude = async {
        let is_silent = |path: &String| path.ends_with("/slow") || path == "c.test/robots.txt";
        until("a request that hangs", async || net.server.seen.paths().iter().any(is_silent)).await;
        exclusions.add([exclusion], 1);
    };
    let both = async { tokio::join!(fetch, exclude) };
    let (shard, ()) = in_time("the shard to finish", both).await;
    (outcomes(&shard.expect("no local failure")), net.server.seen.paths())
}

#[tokio::test]
async fn a_request_in_flight_is_cancelled_and_no_other_follows() {
    let urls = ["http://a.test/slow", "http://a.test/icon", "http://a.test/other"];
    let network = "127.0.0.1/32".parse().expect("a network");
    for exclusion in [
        Exclusion::Hostname("a.test".to_owned()),
        Exclusion::Suffix("test".to_owned()),
        Exclusion::Network(network),
    ] {
        let (ended, asked) =
            excluded_meanwhile(&urls, exclusion.clone(), RobotsPolicy::Ignore).await;
        assert_eq!(ended, [Outcome::OptedOut; 3], "{exclusion:?}");
        assert_eq!(asked, ["a.test/slow"], "{exclusion:?}");
    }
}

#[tokio::test]
async fn a_redirect_and_a_robots_file_are_requests_too() {
    let excluded = || Exclusion::Hostname("b.test".to_owned());
    let urls = ["http://a.test/moved", "http://a.test/icon"];
    let (ended, asked) = excluded_meanwhile(&urls, excluded(), RobotsPolicy::Ignore).await;
    assert_eq!(ended, [Outcome::OptedOut, Outcome::Ok]);
    assert_eq!(asked, ["a.test/moved", "b.test/slow", "a.test/icon"]);

    let excluded = Exclusion::Hostname("c.test".to_owned());
    let (ended, asked) =
        excluded_meanwhile(&["http://c.test/icon"], excluded, RobotsPolicy::Obey).await;
    assert_eq!(ended, [Outcome::OptedOut]);
    assert_eq!(asked, ["c.test/robots.txt"]);
}

#[tokio::test]
async fn an_excluded_host_is_not_resolved() {
    let net = Net::start(|_| ok(&png(16, 0))).await;
    let exclusions = Exclusions::default();
    exclusions.add([Exclusion::Suffix("b.test".to_owned())], 7);
    assert_eq!(exclusions.version(), 7);
    let options = ShardOptions { exclusions, ..net.options() };
    let urls = ["http://www.B.test/icon", "http://a.test/icon"];
    let ended = fetch_shard(&net.fetcher(), vec![host(0, &urls)], spool(), options).await;
    let shard = ended.expect("no local failure");
    assert_eq!(outcomes(&shard), [Outcome::OptedOut, Outcome::Ok]);
    let questions = net.dns.questions.lock().expect("unpoisoned").clone();
    assert!(questions.iter().all(|(name, _)| name == "a.test"), "{questions:?}");
}

#[tokio::test]
async fn held_requests_are_sent_when_they_are_allowed() {
    let net = Net::start(|_| ok(&png(16, 0))).await;
    let fetcher = net.fetcher();
    fetcher.hold_back(true);
    let fetch =
        fetch_shard(&fetcher, vec![host(0, &["http://a.test/icon"])], spool(), net.options());
    let release = async {
        for _ in 0..20 {
            tokio::time::sleep(POLL).await;
        }
        assert_eq!(net.server.seen.paths(), [""; 0]);
        fetcher.hold_back(false);
    };
    let (shard, ()) = tokio::join!(fetch, release);
    assert_eq!(outcomes(&shard.expect("no local failure")), [Outcome::Ok]);
}
