//! Tests that expensive input from one user does not hold back others, and that a stuck scheduler
//! loses its slots.

use std::{
    fmt,
    sync::{Arc, Condvar, Mutex},
};

use everytab_coordinator::CrawlVerb;
use everytab_crawl_settings::CrawlSettings;
use everytab_patience::until;
use everytab_testbed::{ClosedCrawl, GraphSettings, OracleScope};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};
use uuid::Uuid;

use crate::{
    server::{Act, Server, page},
    world::{World, assert_same, settings},
};

const LINKS: usize = 5_000;
const ALL: i64 = LINKS as i64 + 1;

async fn small_world(seed: u64) -> World {
    let graph = GraphSettings { hosts: 2, sites: 1, pages: 12, ..GraphSettings::default() };
    World::new(seed, graph).await
}

/// Returns a page with the maximum number of links, each almost as long as a URL may be.
fn long_links(host: &str, path: &str) -> Act {
    if path != "/" {
        return Act::Respond(404, "", String::new());
    }
    let base = format!("http://{host}/{}/", "a".repeat(2_010));
    let links: String = (0..LINKS).map(|link| format!("<a href={link}>.</a>")).collect();
    page(&format!("<base href={base}>{links}"))
}

/// Starts a crawl with expensive patterns. An engine that tracked all states of the first pattern
/// would take 0.1 s per link.
async fn start_costly(world: &World, host: &str) -> Uuid {
    let costly = CrawlSettings {
        exclude: vec!["re:(?:.?){3000}[^a-z0-9/.:_?=-]".to_owned(), "*/zzz/*".to_owned()],
        priorities: vec![format!("{}b=1", "a".repeat(98))],
        ..settings("host")
    };
    world.start_urls("one", &costly, &[format!("http://{host}/")]).await.1
}

async fn cancel(world: &World, id: Uuid) {
    world.owner.move_crawl(id, CrawlVerb::Cancel).await.unwrap().unwrap();
    world.ended(id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_links_and_costly_patterns_hold_no_other_owner_back() {
    const HOST: &str = "127.7.0.1:8080";
    let world = small_world(70).await;
    let server = Server::start(HOST, |path, _| long_links(HOST, path)).await;
    let _other = Server::start("127.7.0.2:8080", |path, _| page(path)).await;
    let one = start_costly(&world, HOST).await;
    let worker = world.worker("worker-1", |settings| settings.exit_when_done = false);
    until("the page to be requested", async || server.count("/") == 1).await;
    let urls = ["http://127.7.0.2:8080/x".to_owned()];
    let (_, other) = world.start_urls("other", &settings("page"), &urls).await;
    world.waited(other, |status| status.captured == 1).await;
    world.waited(one, |status| status.known == ALL).await;
    cancel(&world, one).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_merge_stops_when_its_crawl_is_cancelled_or_its_worker_stops() {
    const HOST: &str = "127.7.1.1:8080";
    let world = small_world(73).await;
    let server = Server::start(HOST, |path, _| long_links(HOST, path)).await;
    let one = world.worker("worker-1", |settings| settings.exit_when_done = false);
    let cancelled = start_costly(&world, HOST).await;
    until("the page to be requested", async || server.count("/") == 1).await;
    cancel(&world, cancelled).await;
    let id = start_costly(&world, HOST).await;
    until("the page to be requested again", async || server.count("/") == 2).await;
    one.stop().await;
    let two = world.worker("worker-2", |settings| settings.exit_when_done = false);
    world.waited(id, |status| status.known == ALL).await;
    cancel(&world, id).await;
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_with_patterns_over_the_cost_limit_ends_and_holds_no_other_back() {
    let world = small_world(71).await;
    let home = world.graph().home(0);
    let mut before = settings("any");
    before.exclude = vec!["re:[a-m][a-z0-9./_-]{200}%".to_owned()];
    let before = world.start(&before, None, &[home]).await;
    let id = world.start(&settings("any"), None, &[home]).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(before).await;
    // Not even the seed is fetched, because the pattern is not evaluated and might exclude it.
    assert_eq!((status.known, status.links_refused["pattern_cost"].as_i64()), (0, Some(1)));
    world.ended(id).await;
    worker.finish().await;
    let expected = world.expected(ClosedCrawl::new(vec![home], OracleScope::Any));
    assert_same(&world.recorded(id).await, &expected);
}

/// A log that blocks after a certain message, so that the task that writes this message hangs.
#[derive(Default)]
struct BlockedLog {
    lines: Mutex<Vec<String>>,
    is_read: Mutex<bool>,
    reads: Condvar,
}

const HANGS_AT: &str = "stopping: sending no more requests, and recording state";
const STUCK: &str = "the scheduler is stuck; its leases are not renewed";

struct Log(Arc<BlockedLog>);

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("everytab_crawler")
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lines.lock().unwrap().push(message.0.clone());
        if message.0 == HANGS_AT {
            let is_read = self.0.is_read.lock().unwrap();
            drop(self.0.reads.wait_while(is_read, |is_read| !*is_read).unwrap());
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl BlockedLog {
    fn has(&self, line: &str) -> bool {
        self.lines.lock().unwrap().iter().any(|one| one == line)
    }

    fn go_on(&self) {
        *self.is_read.lock().unwrap() = true;
        self.reads.notify_all();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_that_hangs_loses_its_slots_and_continues_without_them() {
    let world = small_world(72).await;
    let log = Arc::<BlockedLog>::default();
    let home = world.graph().home(0);
    // A delay of one hour keeps this crawl open until the end of the test.
    let mut slow = settings("host");
    slow.delay_ms = 3_600_000;
    let (_, open) = world.start_as("one", serde_json::to_value(slow).unwrap(), None, &[home]).await;
    let slots = |worker: &str| {
        world.sql(&format!("select count(*) from everytab.slots where holder = '{worker}'"))
    };
    let one = world.worker_with_log("worker-1", Log(Arc::clone(&log)));
    until("the first worker to hold all slots", async || slots("worker-1") == "256").await;
    one.request_stop();
    until("the first worker's scheduler to hang", async || log.has(HANGS_AT)).await;
    assert_eq!(slots("worker-1"), "256", "the scheduler must hang before it releases its slots");
    let two = world.worker("worker-2", |settings| settings.exit_when_done = false);
    until("the other worker to hold all slots", async || slots("worker-2") == "256").await;
    assert!(log.has(STUCK));
    log.go_on();
    one.finish().await;
    assert_eq!(slots("worker-2"), "256");
    cancel(&world, open).await;
    two.stop().await;
}
