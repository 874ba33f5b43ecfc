//! Tests connection reuse, rate-limit signals, and the later pass.

use std::{sync::atomic::Ordering, time::Duration};

use everytab_fetcher::Outcome;
use everytab_patience::SILENCE;

use super::{
    shards::{host, outcomes, run},
    support::*,
};

#[tokio::test]
async fn an_origin_with_few_icons_uses_one_connection() {
    let mut net = Net::start(|asked| ok(&png(16, asked.path.len() as u8))).await;
    net.settings.in_flight = 2;
    let mut hosts = Vec::new();
    for number in 0..12 {
        net.dns.point(&format!("h{number}.test"), "127.0.0.1");
        let urls: Vec<String> = (0..3).map(|n| format!("http://h{number}.test/{n}")).collect();
        hosts.push(host(number, &urls.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    let shard = run(&net, hosts).await;
    assert!(outcomes(&shard).iter().all(|outcome| *outcome == Outcome::Ok));
    assert_eq!(net.server.seen.connections.load(Ordering::SeqCst), 12);
    assert_eq!((shard.counts.connections_tried, shard.counts.connections_reused), (12, 24));
    assert_eq!(shard.counts.lookups(), 12);
}

#[tokio::test]
async fn a_rate_limit_signal_halves_an_addresss_concurrent_requests() {
    let mut net = Net::start(|asked| match asked.path.as_str() {
        "/busy" => status("429 Too Many Requests"),
        _ => Reply::Later(Duration::from_millis(30), answer_with("200 OK", &[], &png(16, 0))),
    })
    .await;
    net.settings.per_address = 4;
    let mut hosts = Vec::new();
    for number in 0..12 {
        net.dns.point(&format!("h{number}.test"), "127.0.0.1");
        hosts.push(host(number, &[&format!("http://h{number}.test/")]));
    }
    let before = run(&net, hosts.clone()).await;
    assert_eq!(before.counts.most_per_address, 4);
    let fetcher = net.fetcher();
    fetch_one(&fetcher, "http://a.test/busy").await;
    let options = net.options();
    let after =
        everytab_fetcher::fetch_shard(&fetcher, hosts, super::shards::spool(), options).await;
    let after = after.expect("no local failure");
    assert_eq!(after.counts.most_per_address, 2, "{:?}", after.counts);
    assert_eq!(outcomes(&before), outcomes(&after), "slowing down changes no outcome");
}

#[tokio::test]
async fn the_later_pass_tries_another_icon_of_an_origin_that_seemed_dead() {
    let mut net = Net::start(|asked| match asked.path.as_str() {
        "/0" => Reply::SendAndHang(Vec::new()),
        _ => ok(&png(16, 0)),
    })
    .await;
    net.settings.first_byte_timeout = SILENCE;
    let urls = ["http://a.test/0", "http://a.test/1", "http://a.test/2"];
    let shard = run(&net, vec![host(0, &urls)]).await;
    assert_eq!(outcomes(&shard), [Outcome::FirstByteTimeout, Outcome::Ok, Outcome::Ok]);
}
