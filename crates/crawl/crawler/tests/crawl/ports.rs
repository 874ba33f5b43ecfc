//! Tests ports that a crawl or a worker does not allow. Links to them are counted, and known URLs
//! are rejected when they are due.

use everytab_fetcher::FetchSettings;
use everytab_testbed::{ClosedCrawl, GraphSettings, OracleScope};
use serde_json::{Value, json};

use crate::world::{World, settings};

async fn world(seed: u64) -> World {
    let graph = GraphSettings { hosts: 12, sites: 6, pages: 240, ..GraphSettings::default() };
    World::new(seed, graph).await
}

fn https_alone(world: &World) -> FetchSettings {
    FetchSettings { ports: "443".parse().unwrap(), ..world.fetcher() }
}

fn with(field: &str, ports: &[u16]) -> Value {
    let mut settings = serde_json::to_value(settings("any")).unwrap();
    settings[field] = json!(ports);
    settings
}

fn is_https(url: &str) -> bool {
    url.starts_with("https://")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_to_ports_that_a_crawl_does_not_request_are_counted() {
    let world = world(70).await;
    let home = (0..world.graph().hosts()).find(|host| world.graph().has_https(*host)).unwrap();
    let home = world.graph().home(home);
    let (_, by_crawl) = world.start_with(with("ports", &[443]), None, &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(by_crawl).await;
    worker.finish().await;
    let first = world.recorded(by_crawl).await;
    assert!(first.len() > 20 && first.keys().all(|url| is_https(url)), "{first:?}");
    assert!(status.links_refused["port"].as_i64() > Some(5), "{}", status.links_refused);

    let by_worker = world.start(&settings("any"), None, &[home]).await;
    let worker = world.worker_with("worker-2", https_alone(&world), |_| {});
    let status = world.ended(by_worker).await;
    worker.finish().await;
    assert_eq!(world.recorded(by_worker).await, first);
    assert!(status.links_refused["port"].as_i64() > Some(5), "{}", status.links_refused);
    let is_http = |host: &str| {
        let host = world.graph().host_of_name(host);
        host.is_some_and(|host| !world.graph().has_https(host))
    };
    assert!(world.requests().iter().all(|line| !is_http(&line.host)), "an http host was requested");
}

/// A key's crawl may name a port that the worker does not allow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn known_urls_on_ports_that_a_worker_does_not_request_are_refused() {
    let world = world(71).await;
    let homes: Vec<_> = (0..world.graph().hosts()).map(|host| world.graph().home(host)).collect();
    let (_, id) = world.start_with(with("ports", &[80, 443]), None, &homes).await;
    let worker = world.worker_with("worker-1", https_alone(&world), |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    let recorded = world.recorded(id).await;
    let (https, http): (Vec<_>, Vec<_>) = recorded.iter().partition(|(url, _)| is_https(url));
    assert!(https.len() > 20 && http.len() > 10, "{recorded:?}");
    assert!(http.iter().all(|(_, outcome)| *outcome == "url_port"), "{http:?}");
    assert_eq!(status.refused["url_port"], http.len());
    assert_eq!(status.left, json!({}), "no host may count as unreachable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_worker_requests_the_ports_of_an_operators_seeds() {
    let world = world(72).await;
    let home = world.graph().home(0);
    let (_, id) = world.start_with(with("seed_ports", &[80]), None, &[home]).await;
    let worker = world.worker_with("worker-1", https_alone(&world), |_| {});
    world.ended(id).await;
    worker.finish().await;
    let expected = world.expected(ClosedCrawl::new(vec![home], OracleScope::Any));
    crate::world::assert_same(&world.recorded(id).await, &expected);
}
