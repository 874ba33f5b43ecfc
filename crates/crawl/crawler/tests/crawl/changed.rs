//! Tests includes and excludes that change while a crawl runs.

use std::{collections::BTreeSet, time::Duration};

use everytab_coordinator::{PatternChange, PatternsChanged};
use everytab_crawl_settings::CrawlSettings;
use everytab_crawler::CrawlerSettings;
use everytab_testbed::GraphSettings;
use serde_json::json;
use uuid::Uuid;

use crate::{
    server::{Act, Server, page},
    world::{World, settings},
};

const KEPT: usize = 12;
const DROPPED: usize = 200;

async fn world(seed: u64) -> World {
    World::new(seed, GraphSettings { hosts: 1, sites: 1, pages: 1, ..GraphSettings::default() })
        .await
}

/// Serves pages below `/keep` and `/drop`. Each page below `/keep` links to one more below `/drop`.
async fn serve(address: &str) -> Server {
    let links = |directory: &str, number: usize| -> String {
        (0..number).map(|page| format!("<a href=/{directory}/{page}>.</a>")).collect()
    };
    let dead = address.replace("8080", "8443");
    let home = links("keep", KEPT) + &links("drop", DROPPED);
    let home = format!("{home}<a href=http://{dead}/drop/dead>.</a>");
    Server::start(address, move |path, _| match path.strip_prefix("/keep/") {
        Some(number) => page(&format!("<a href=/drop/found-{number}>.</a>")),
        None if path == "/" => page(&home),
        None if path == "/robots.txt" => Act::Respond(404, "", String::new()),
        None => page(path),
    })
    .await
}

fn host_settings() -> CrawlSettings {
    CrawlSettings { delay_ms: 250, delay_factor: 0.0, ..settings("host") }
}

/// Makes a worker wait for the dead port much longer than any test takes.
fn patient(settings: &mut CrawlerSettings) {
    settings.host_patience = Duration::from_secs(24 * 60 * 60);
    settings.exit_when_done = false;
}

fn dropped(server: &Server) -> usize {
    server.requests().iter().filter(|path| path.starts_with("/drop/")).count()
}

/// A page counts once, even if two workers requested it.
fn kept(server: &Server) -> usize {
    let requests: BTreeSet<String> = server.requests().into_iter().collect();
    requests.iter().filter(|path| path.starts_with("/keep/")).count()
}

async fn change(world: &World, id: Uuid, version: i32, include: &[&str], exclude: &[&str]) {
    let change = PatternChange { version, include: json!(include), exclude: json!(exclude) };
    let result = world.owner.change_patterns(id, &change).await.unwrap();
    assert_eq!(result, PatternsChanged::Changed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn excluding_urls_of_a_running_crawl_leaves_them_without_requests() {
    let world = world(90).await;
    let server = serve("127.6.4.1:8080").await;
    let home = "http://127.6.4.1:8080/".to_owned();
    let (_, id) = world.start_urls("test", &host_settings(), &[home]).await;
    let worker = world.worker("worker-1", patient);
    world.waited(id, |status| status.captured > 2).await;
    change(&world, id, 1, &[], &["*/drop/*"]).await;
    let excluded = |left: &serde_json::Value| left["excluded"].as_i64().unwrap_or_default();
    world.waited(id, |status| excluded(&status.left) > 0).await;
    let before = dropped(&server);
    // One excluded URL is on the dead port. If it remained pending, the crawl would not end for a
    // day.
    let status = world.ended(id).await;
    worker.stop().await;
    assert_eq!(status.ended_by.as_deref(), Some("empty"));
    assert_eq!(dropped(&server), before, "an excluded URL was requested");
    assert_eq!(kept(&server), KEPT);
    assert_eq!(status.pending, 0);
    assert_eq!(status.captured, i64::try_from(1 + KEPT + before).unwrap());
    let known = status.known - status.captured;
    assert_eq!(json!({ "excluded": known }), status.left);
    assert!(status.links_refused["excluded"].as_i64() > Some(0), "{}", status.links_refused);
    let rows = "select count(*) from everytab.fetches where outcome = 'excluded'";
    assert_eq!(world.sql(rows), known.to_string());
    let versions = status.patterns.unwrap();
    assert_eq!(versions[0]["exclude"], json!([]));
    assert_eq!(
        (&versions[1]["version"], &versions[1]["exclude"]),
        (&json!(2), &json!(["*/drop/*"]))
    );
    let more = PatternChange { version: 2, include: json!([]), exclude: json!([]) };
    let refused = world.owner.change_patterns(id, &more).await.unwrap();
    assert_eq!(refused, PatternsChanged::Ended);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pending_urls_are_checked_against_the_newest_patterns_when_loaded() {
    let world = world(91).await;
    let server = serve("127.6.4.2:8080").await;
    let home = "http://127.6.4.2:8080/".to_owned();
    let (_, id) = world.start_urls("test", &host_settings(), &[home]).await;
    let first = world.worker("worker-1", patient);
    world.waited(id, |status| status.captured > 2).await;
    first.stop().await;
    let before = (dropped(&server), world.status(id).await.captured);
    change(&world, id, 1, &[], &["*/keep/*"]).await;
    let late = PatternChange { version: 1, include: json!([]), exclude: json!([]) };
    let result = world.owner.change_patterns(id, &late).await.unwrap();
    assert_eq!(result, PatternsChanged::Moved);
    change(&world, id, 2, &["*/keep/*"], &[]).await;
    let second = world.worker("worker-2", patient);
    let status = world.ended(id).await;
    second.stop().await;
    assert_eq!(dropped(&server), before.0);
    assert_eq!(kept(&server), KEPT);
    assert!(status.captured > before.1, "{status:?}");
    let left = status.known - status.captured;
    assert_eq!(status.left, json!({ "not_included": left }));
}
