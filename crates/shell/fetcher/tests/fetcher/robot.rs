//! Tests a shard's robot: its User-Agent, its rules in robots.txt, and its networks.

use everytab_fetcher::{Outcome, Robot, RobotsPolicy, ShardOptions, fetch_shard};

use super::{
    shards::{host, outcomes, spool},
    support::*,
};

#[tokio::test]
async fn a_shard_uses_the_robot_of_its_scan() {
    let mut net = Net::start(|asked| {
        assert!(asked.head.contains("ScanBot/2.0 (+https://tabs.page/bot.html)"), "{}", asked.head);
        match asked.path.as_str() {
            "/robots.txt" => ok(b"User-agent: ScanBot\nDisallow: /closed\n\
                                  User-agent: WorkerBot\nDisallow: /icon\n"),
            _ => ok(&png(16, 0)),
        }
    })
    .await;
    net.robots = RobotsPolicy::Obey;
    net.settings.user_agent = "WorkerBot/1.0".to_owned();
    let robot = Robot::new("ScanBot/2.0 (+https://tabs.page/bot.html)").expect("a header's value");
    let options = ShardOptions { robot: Some(robot), ..net.options() };
    let urls = ["http://a.test/icon", "http://a.test/closed/icon"];
    let ended = fetch_shard(&net.fetcher(), vec![host(0, &urls)], spool(), options).await;
    let shard = ended.expect("no local failure");
    assert_eq!(outcomes(&shard), [Outcome::Ok, Outcome::RobotsDisallowed]);
    assert_eq!(net.server.seen.paths(), ["a.test/robots.txt", "a.test/icon"]);
}

#[tokio::test]
async fn a_confined_robot_dials_no_public_address() {
    let net = Net::start(|asked| match asked.path.as_str() {
        "/moved" => redirect("http://public.test/icon"),
        _ => ok(&png(16, 0)),
    })
    .await;
    net.dns.point("public.test", "8.8.8.8");
    let addresses = ["127.0.0.1", "8.8.4.4"].map(|address| address.parse().expect("an address"));
    net.dns.set("mixed.test", Name::Is(addresses.to_vec()));
    let fetcher = net.fetcher();
    let options = ShardOptions { robot: Some(fetcher.robot().clone().confined()), ..net.options() };
    let urls = [
        "http://a.test/icon",
        "http://a.test/moved",
        "http://public.test/icon",
        "http://mixed.test/icon",
        "http://8.8.8.8/icon",
    ];
    let ended = fetch_shard(&fetcher, vec![host(0, &urls)], spool(), options).await;
    use Outcome::*;
    let shard = ended.expect("no local failure");
    assert_eq!(outcomes(&shard), [Ok, RedirectBlocked, IpBlocked, IpBlocked, IpBlocked]);
    let dialled = |result: &everytab_fetcher::CandidateFetch| result.url_fetch.address;
    assert!(shard.results[1..].iter().filter_map(dialled).all(|at| at.ip().is_loopback()));
}
