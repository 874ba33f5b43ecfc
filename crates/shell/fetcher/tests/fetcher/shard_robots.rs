//! Tests that a shard fetches robots.txt before an origin's first icon, over the same connection.

use std::sync::atomic::Ordering;

use everytab_fetcher::{Outcome, RobotsPolicy};
use everytab_patience::SILENCE;

use super::{
    shards::{host, outcomes, run},
    support::*,
};

async fn obeying(script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Net {
    let mut net = Net::start(script).await;
    net.robots = RobotsPolicy::Obey;
    net
}

#[tokio::test]
async fn forbidden_icons_get_no_request_and_others_use_the_same_connection() {
    let net = obeying(|asked| match asked.path.as_str() {
        "/robots.txt" => ok(b"User-agent: EveryTabBot\nDisallow: /private/\n"),
        _ => ok(&png(16, 0)),
    })
    .await;
    let urls = ["http://a.test/private/icon", "http://a.test/icon", "http://a.test/icon?2"];
    let shard = run(&net, vec![host(0, &urls)]).await;
    assert_eq!(outcomes(&shard), [Outcome::RobotsDisallowed, Outcome::Ok, Outcome::Ok]);
    let seen = &net.server.seen;
    assert_eq!(seen.paths()[0], "a.test/robots.txt");
    assert_eq!((seen.count("/robots.txt"), seen.count("/private/icon")), (1, 0));
    assert!(seen.connections.load(Ordering::SeqCst) <= 2);
    let mut net = net;
    net.robots = RobotsPolicy::Ignore;
    let shard = run(&net, vec![host(0, &urls)]).await;
    assert_eq!(outcomes(&shard), [Outcome::Ok; 3]);
    assert_eq!(net.server.seen.count("/robots.txt"), 1);
}

#[tokio::test]
async fn a_missing_file_allows_and_a_failing_server_forbids() {
    for (line, outcome) in [
        ("404 Not Found", Outcome::Ok),
        ("403 Forbidden", Outcome::Ok),
        ("204 No Content", Outcome::Ok),
        ("500 Internal Server Error", Outcome::RobotsDisallowed),
        ("429 Too Many Requests", Outcome::RobotsDisallowed),
    ] {
        let net = obeying(move |asked| match asked.path.as_str() {
            "/robots.txt" => Reply::Send(answer_with(line, &[], b"")),
            _ => ok(&png(16, 0)),
        })
        .await;
        let shard = run(&net, vec![host(0, &["http://a.test/icon"])]).await;
        assert_eq!(outcomes(&shard), [outcome], "{line}");
    }
}

#[tokio::test]
async fn robots_txt_is_checked_on_every_hop_and_redirected_rules_apply_to_the_first_host() {
    let net = obeying(|asked| match (asked.host.as_str(), asked.path.as_str()) {
        ("a.test", "/robots.txt") => redirect("http://b.test/robots.txt"),
        ("b.test", "/robots.txt") => ok(b"User-agent: *\nDisallow: /no\n"),
        ("a.test", "/moved") => redirect("http://b.test/no"),
        _ => ok(&png(16, 0)),
    })
    .await;
    let urls = ["http://a.test/moved", "http://a.test/no", "http://a.test/yes", "http://b.test/x"];
    let shard = run(&net, vec![host(0, &urls)]).await;
    use Outcome::*;
    assert_eq!(outcomes(&shard), [RobotsDisallowed, RobotsDisallowed, Ok, Ok]);
    assert_eq!(net.server.seen.count("b.test/no"), 0);
}

#[tokio::test]
async fn icons_get_the_outcome_of_an_unreachable_robots_txt() {
    let mut net = obeying(|_| Reply::SendAndHang(Vec::new())).await;
    net.settings.first_byte_timeout = SILENCE;
    net.dns.point("refuses.test", "127.0.0.9");
    let urls = [
        "http://missing.test/1",
        "http://missing.test/2",
        "http://refuses.test/1",
        "http://refuses.test/2",
        "http://a.test/1",
        "http://a.test/2",
    ];
    let shard = run(&net, vec![host(0, &urls)]).await;
    use Outcome::*;
    assert_eq!(
        outcomes(&shard),
        [
            DnsNxdomain,
            DnsNxdomain,
            ConnectRefused,
            ConnectRefused,
            FirstByteTimeout,
            FirstByteTimeout
        ]
    );
    assert_eq!(net.server.seen.paths(), ["a.test/robots.txt", "a.test/robots.txt"]);
}

#[tokio::test]
async fn a_long_file_is_read_up_to_its_limit() {
    let net = obeying(|asked| match asked.path.as_str() {
        "/robots.txt" => {
            let mut file = b"User-agent: *\nDisallow: /no\n".to_vec();
            file.extend(std::iter::repeat_n(*b"# filler\n", 100_000).flatten());
            ok(&file)
        }
        _ => ok(&png(16, 0)),
    })
    .await;
    let shard = run(&net, vec![host(0, &["http://a.test/no", "http://a.test/yes"])]).await;
    assert_eq!(outcomes(&shard), [Outcome::RobotsDisallowed, Outcome::Ok]);
}

#[tokio::test]
async fn a_robots_txt_redirect_to_a_private_address_allows_everything() {
    let net = obeying(|asked| match asked.path.as_str() {
        "/robots.txt" => redirect("http://169.254.169.254/robots.txt"),
        _ => ok(&png(16, 0)),
    })
    .await;
    let shard = run(&net, vec![host(0, &["http://a.test/icon"])]).await;
    assert_eq!(outcomes(&shard), [Outcome::Ok], "unreachable rules allow everything");
}
