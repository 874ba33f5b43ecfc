//! Tests that crawls pass cookie walls, and that URLs in a redirect loop fail.

use std::{fs, time::Duration};

use everytab_crawl_settings::CrawlSettings;
use everytab_patience::until;
use everytab_testbed::{
    AccessLine, ClosedCrawl, ExpectedEnding, GraphPage, GraphSettings, OracleScope, PageKind, Trap,
    check_politeness,
};

use crate::{
    server::{Act, Server, page},
    world::{World, assert_same, settings},
};

fn walled(hosts: u64, pages: u64) -> GraphSettings {
    GraphSettings { walled: 700, redirect: 100, ..GraphSettings::plain(hosts, hosts, pages) }
}

const PASSED: &str = "Set-Cookie: passed=1\r\n";

/// Responds like a server whose `/page` needs a cookie from `/check`.
fn of_wall(request: &str) -> Act {
    match request {
        "/page" => Act::Redirect("/check".to_owned(), ""),
        "/check" => Act::Redirect("/page".to_owned(), PASSED),
        "/page Cookie: passed=1" => page("Welcome"),
        _ => Act::Respond(404, "", String::new()),
    }
}

fn walls(world: &World) -> usize {
    let graph = world.graph();
    let pages = (0..graph.hosts())
        .flat_map(|host| (0..graph.pages_of(host)).map(move |page| GraphPage { host, page }));
    pages.filter(|page| graph.kind(*page) == PageKind::Walled).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_behind_cookie_walls_are_captured() {
    let world = World::new(60, walled(3, 90)).await;
    assert!(walls(&world) > 30, "{}", walls(&world));
    let homes: Vec<GraphPage> = (0..3).map(|host| world.graph().home(host)).collect();
    let id = world.start(&settings("site"), None, &homes).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    let crawl = ClosedCrawl::new(homes, OracleScope::Site);
    assert_same(&world.recorded(id).await, &world.expected(crawl));
    assert_eq!(status.ended_by.as_deref(), Some("empty"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wall_takes_one_page_of_a_limit() {
    let world = World::new(61, walled(1, 60)).await;
    let graph = world.graph();
    let pages = (0..graph.pages_of(0)).map(|page| GraphPage { host: 0, page });
    let of_itself =
        |page: &GraphPage| graph.kind(*page) == PageKind::Walled && !page.page.is_multiple_of(2);
    let wall = pages.clone().find(of_itself).unwrap();
    let id = world.start(&settings("page"), Some(1), &[wall]).await;
    let redirect = pages.clone().find(|page| graph.kind(*page) == PageKind::Redirect).unwrap();
    let other = world.start(&settings("page"), Some(1), &[redirect]).await;
    let worker = world.worker("worker-1", |_| {});
    assert_eq!(world.ended(id).await.captured, 1);
    let recorded = world.recorded(id).await;
    assert_eq!(recorded.get(&graph.url(wall)).map(String::as_str), Some("ok"));
    // A redirect's target counts as another page, for which the limit has no page left.
    let status = world.ended(other).await;
    assert_eq!((status.ended_by.as_deref(), status.captured), (Some("limit"), 1));
    let recorded = world.recorded(other).await;
    assert_eq!(recorded.get(&graph.url(redirect)).map(String::as_str), Some("redirected"));
    worker.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirect_loops_and_endless_cookies_fail() {
    let graph = GraphSettings {
        traps: vec![Trap::RedirectLoop, Trap::CookieCounter],
        trap_hosts: 1_000,
        ..GraphSettings::plain(2, 2, 20)
    };
    let world = World::new(62, graph).await;
    let homes: Vec<GraphPage> = (0..2).map(|host| world.graph().home(host)).collect();
    let id = world.start(&settings("site"), None, &homes).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    let recorded = world.recorded(id).await;
    let of_trap = |trap: Trap| {
        let prefix = trap.prefix();
        let urls = recorded.iter().filter(|(url, _)| world.graph().trap_of_url(url) == Some(trap));
        let mut found: Vec<(&str, &str)> = urls
            .map(|(url, outcome)| (&url[url.find(prefix).unwrap()..], outcome.as_str()))
            .collect();
        found.sort_unstable();
        found
    };
    let looped = ["/loop/0", "/loop/1", "/loop/2"].map(|url| (url, "redirect_loop"));
    assert_eq!(of_trap(Trap::RedirectLoop), looped);
    assert_eq!(of_trap(Trap::CookieCounter), [("/counter", "redirect_limit")]);
    let captured =
        world.count(ClosedCrawl::new(homes, OracleScope::Site), ExpectedEnding::Captured);
    assert_eq!((status.captured, status.failed), (captured, 4));
    let requests = world.requests();
    assert_eq!(requests.iter().filter(|line| line.path == "/counter").count(), 6);
    assert_eq!(requests.iter().filter(|line| line.path.starts_with("/loop/")).count(), 3);
}

/// The cookies are lost when a worker dies between two requests in a chain, so the next worker
/// starts the chain again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chains_interrupted_by_a_death_start_again() {
    let graph = GraphSettings {
        traps: vec![Trap::RedirectLoop, Trap::CookieCounter],
        trap_hosts: 1_000,
        ..walled(4, 60)
    };
    let world = World::new(63, graph).await;
    let homes: Vec<GraphPage> = (0..4).map(|host| world.graph().home(host)).collect();
    let mut crawl_settings = settings("site");
    crawl_settings.delay_ms = 150;
    let id = world.start(&crawl_settings, None, &homes).await;
    let check = |line: &AccessLine| line.path.starts_with("/check/");
    let first = world.worker("worker-1", |_| {});
    while world.running.access_lines().iter().filter(|line| check(line)).count() < 4 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    first.kill();
    let last = world.worker("worker-2", |_| {});
    let status = world.ended(id).await;
    last.finish().await;
    let is_trap = |url: &String| world.graph().trap_of_url(url).is_some();
    let (traps, mut pages) = (world.recorded(id).await, world.recorded(id).await);
    pages.retain(|url, _| !is_trap(url));
    assert_same(&pages, &world.expected(ClosedCrawl::new(homes, OracleScope::Site)));
    let traps: Vec<String> =
        traps.into_iter().filter(|(url, _)| is_trap(url)).map(|t| t.1).collect();
    let count = |outcome: &str| traps.iter().filter(|found| *found == outcome).count();
    assert_eq!((count("redirect_loop"), count("redirect_limit"), traps.len()), (6, 2, 8));
    assert_eq!(status.seeds + status.sent, status.read);
    let delay = |_: &str| Duration::from_millis(150);
    assert_eq!(check_politeness(&world.requests(), delay), []);
}

/// A page and its wall are in two archives. The worker dies when only one archive is stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wall_is_not_recorded_without_its_page() {
    let world = World::new(64, GraphSettings::plain(1, 1, 1)).await;
    let _server = Server::start("127.9.4.1:8080", |request, _| of_wall(request)).await;
    let [page, missing] = ["page", "missing"].map(|path| format!("http://127.9.4.1:8080/{path}"));
    let urls = [page.clone(), missing.clone()];
    let (number, id) = world.start_urls("one", &settings("page"), &urls).await;
    let name = world.sql(&format!("select name from everytab.crawls where crawl = {number}"));
    let segments = world.directory("store").join(format!("crawl-data/{name}/segments"));
    // Files in place of the store's directories make page uploads fail.
    let pages: Vec<_> = (0..256).map(|slot| segments.join(format!("{slot}/warc"))).collect();
    for path in &pages {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let first = world.worker("worker-1", |_| {});
    until("the record of the other URL", async || world.recorded(id).await.contains_key(&missing))
        .await;
    first.kill();
    for path in &pages {
        fs::remove_file(path).unwrap();
    }
    world.expire_leases();
    let second = world.worker("worker-2", |_| {});
    world.ended(id).await;
    second.finish().await;
    assert_eq!(world.recorded(id).await.get(&page).map(String::as_str), Some("ok"));
}

/// The URL that sets the cookie failed before, and its retry is due in some seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wall_waits_for_a_check_that_is_retried() {
    let world = World::new(65, GraphSettings::plain(1, 1, 1)).await;
    let server = Server::start("127.9.4.2:8080", |request, before| match request {
        "/check" if before == 0 => Act::Respond(503, "", String::new()),
        _ => of_wall(request),
    })
    .await;
    let [check, page] = ["check", "page"].map(|path| format!("http://127.9.4.2:8080/{path}"));
    let (number, id) = world.start_urls("one", &settings("page"), &[check]).await;
    let worker = world.worker("worker-1", |settings| settings.retry_pause = Duration::from_secs(5));
    until("the first check", async || server.count("/check") == 1).await;
    world.add_urgent_urls(number, std::slice::from_ref(&page)).await;
    world.ended(id).await;
    worker.finish().await;
    assert_eq!(world.recorded(id).await.get(&page).map(String::as_str), Some("ok"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn walls_lead_to_their_pages_after_the_site_budget_is_used_up() {
    let world = World::new(68, GraphSettings::plain(1, 1, 1)).await;
    let _server = Server::start("127.9.4.4:8080", |request, _| {
        let links = (0..30).map(|number| format!("<a href=/page/{number}>.</a>"));
        match request.rsplit_once('/').unwrap() {
            ("/check", number) => Act::Redirect(format!("/page/{number}"), PASSED),
            ("/page", number) if !number.ends_with(" Cookie: passed=1") => {
                Act::Redirect(format!("/check/{number}"), "")
            }
            _ if request == "/" => page(&links.collect::<String>()),
            _ => page(request),
        }
    })
    .await;
    let crawl_settings = CrawlSettings { site_pages: 10, ..settings("site") };
    let urls = ["http://127.9.4.4:8080/".to_owned()];
    let (_, id) = world.start_urls("one", &crawl_settings, &urls).await;
    let worker = world.worker("worker-1", |_| {});
    world.ended(id).await;
    worker.finish().await;
    let recorded = world.recorded(id).await;
    let count = |outcome: &str| recorded.values().filter(|found| *found == outcome).count();
    assert_eq!((count("ok"), count("redirected")), (10, 9), "{recorded:?}");
}

/// The number of walls that wait for retried URLs exceeds the maximum number of chains.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn walls_are_passed_although_every_check_fails_once() {
    const PAGES: usize = 18;
    let world = World::new(66, GraphSettings::plain(1, 1, 1)).await;
    let _server = Server::start("127.9.4.3:8080", |request, before| {
        match request.rsplit_once('/').unwrap() {
            ("/check", _) if before == 0 => Act::Respond(503, "", String::new()),
            ("/check", number) => Act::Redirect(format!("/page/{number}"), PASSED),
            ("/page", number) if !number.ends_with(" Cookie: passed=1") => {
                Act::Redirect(format!("/check/{number}"), "")
            }
            _ => page(request),
        }
    })
    .await;
    let urls = (0..PAGES).map(|number| format!("http://127.9.4.3:8080/page/{number}"));
    let (_, id) = world.start_urls("one", &settings("page"), &urls.collect::<Vec<_>>()).await;
    let worker = world.worker("worker-1", |settings| settings.retry_pause = Duration::from_secs(2));
    world.ended(id).await;
    worker.finish().await;
    let recorded = world.recorded(id).await;
    let pages = recorded.iter().filter(|(url, _)| url.contains("/page/"));
    assert_eq!(pages.filter(|(_, outcome)| *outcome == "ok").count(), PAGES, "{recorded:?}");
}
