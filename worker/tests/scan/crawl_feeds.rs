//! Tests that a crawl's feed returns each fetch once and in recording order, while processes are
//! killed and transactions commit late.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use everytab_testbed::{GraphSettings, Settings};
use serde_json::{Value, json};

use crate::{
    api_client::Client,
    api_walkthrough::{key, service},
    chaos::number,
    environment::{Database, Internet, Stores, internet_with},
    live_crawls::{crawler, expected},
    setup::{LIMIT, Running, wait_for},
};

/// Fetches per page, few enough that new rows fill several pages.
const PAGE: usize = 7;
const WORKERS: usize = 2;

/// Delays one in three transactions that record fetches by 1.2 s. The service polls once a second,
/// so it reads later transactions first.
const COMMIT_LATE: &str = "
    create function everytab.commit_late() returns trigger language plpgsql as $$
    begin
        if coalesce(current_setting('everytab.is_late', true), '') = '' then
            perform set_config('everytab.is_late', 'known', true);
            perform pg_sleep(case when pg_current_xact_id()::text::bigint % 3 = 0
                                  then 1.2 else 0 end);
        end if;
        return null;
    end $$;
    create constraint trigger commit_late after insert on everytab.fetches
        deferrable initially deferred for each row execute function everytab.commit_late()";

/// Ends the leases and the probation that follow a worker's death.
const TIME_PASSES: &str = "
    delete from everytab.workers;
    update everytab.slots set deaths = 0, lease_until = least(lease_until, clock_timestamp())";

/// A fetch's position in recording order: its transaction, and its number in it.
type Place = (u64, i64);

type Page = Vec<String>;

struct World<'a> {
    internet: &'a Internet,
    database: Database,
    client: Arc<Mutex<Client>>,
    service: Running,
    workers: Vec<Running>,
}

impl<'a> World<'a> {
    fn new(internet: &'a Internet) -> Self {
        let database = Database::new(internet, Stores::folders(internet, internet.folder.path()));
        database.psql(COMMIT_LATE);
        let key =
            key(&database, "a person", &["--requests-per-second", "1000", "--burst", "10000"]);
        let (service, address) = service(&database, &store(internet), &[]);
        let client = Arc::new(Mutex::new(Client { address, key }));
        let mut world = Self { internet, database, client, service, workers: Vec::new() };
        world.start_workers();
        world
    }

    fn client(&self) -> Client {
        self.client.lock().unwrap().clone()
    }

    fn start_workers(&mut self) {
        let start = || crawler(self.internet, &self.database, &[]);
        self.workers = std::iter::repeat_with(start).take(WORKERS).collect();
    }

    fn kill_workers(&mut self) {
        for worker in &mut self.workers {
            worker.kill();
        }
        self.database.psql(TIME_PASSES);
        self.start_workers();
    }

    fn kill_service(&mut self) {
        self.service.kill();
        let (service, address) = service(&self.database, &store(self.internet), &[]);
        self.service = service;
        self.client.lock().unwrap().address = address;
    }

    fn recorded(&self) -> u64 {
        self.database.psql("select count(*) from everytab.fetches").trim().parse().unwrap()
    }

    fn places(&self) -> BTreeMap<String, Place> {
        let rows = self.database.psql("select url, xid, id from everytab.fetches");
        let place = |line: &str| {
            let mut fields = line.split('|');
            let url = fields.next().unwrap().to_owned();
            let xid = fields.next().unwrap().parse().unwrap();
            (url, (xid, fields.next().unwrap().parse().unwrap()))
        };
        let lines: Vec<&str> = rows.lines().filter(|line| !line.is_empty()).collect();
        let places: BTreeMap<_, _> = lines.iter().map(|line| place(line)).collect();
        assert_eq!(places.len(), lines.len(), "a URL was recorded twice");
        places
    }
}

fn store(internet: &Internet) -> PathBuf {
    internet.folder.path().join("crawls")
}

/// Reads a feed to its end, and continues at the cursor after each interruption. Returns the pages
/// and the number of interruptions.
fn read_feed(client: &Mutex<Client>, crawl: &str) -> (Vec<Page>, u32) {
    let mut pages = Vec::new();
    let mut interruptions = 0;
    let mut after = String::new();
    let mut give_up = Instant::now() + LIMIT;
    loop {
        assert!(Instant::now() < give_up, "no fetch arrived, and the feed has not ended");
        let path = format!("/v1/crawls/{crawl}/feed?limit={PAGE}&wait=5{after}");
        let now = client.lock().unwrap().clone();
        let Ok((status, page)) = now.try_send("GET", &path, &Value::Null) else {
            interruptions += 1;
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        assert_eq!(status, 200, "{page}");
        after = format!("&after={}", page["next"].as_str().unwrap());
        let fetches = page["fetches"].as_array().unwrap();
        if !fetches.is_empty() {
            give_up = Instant::now() + LIMIT;
        }
        let url = |fetch: &Value| fetch["url"].as_str().unwrap().to_owned();
        pages.push(fetches.iter().map(url).collect());
        if page["crawl_state"] == "ended" && page["has_more"] == false {
            return (pages, interruptions);
        }
    }
}

/// Fails unless each page is in ascending order and each transaction's fetches are together.
/// Returns how many pages start before the previous page's end, because a transaction committed
/// late.
fn late_pages(pages: &[Page], places: &BTreeMap<String, Place>) -> usize {
    let pages: Vec<Vec<Place>> = pages
        .iter()
        .filter(|urls| !urls.is_empty())
        .map(|urls| urls.iter().map(|url| places[url]).collect())
        .collect();
    for page in &pages {
        assert!(page.is_sorted_by(|one, next| one < next), "not in order: {page:?}");
    }
    let all = pages.concat();
    let mut transactions = BTreeSet::new();
    for run in all.chunk_by(|one, next| one.0 == next.0) {
        assert!(transactions.insert(run[0].0), "a transaction was interrupted: {all:?}");
        assert!(run.is_sorted_by(|one, next| one < next), "not in order: {run:?}");
    }
    pages.windows(2).filter(|two| two[1].first() < two[0].last()).count()
}

/// Submits URLs in `rounds` parts, and kills a process after each part. Returns how many feed pages
/// contained a late transaction.
fn read_while_killing(hosts: u64, rounds: usize) -> usize {
    let graph = GraphSettings::plain(hosts, hosts / 2, hosts * 12);
    let internet = internet_with(|scratch| Settings::graph(31, graph, scratch));
    let urls: Vec<String> = expected(&internet).into_keys().collect();
    let mut world = World::new(&internet);
    let settings = json!({ "scope": "page", "depth": 0, "delay_ms": 250, "sitemaps": "off" });
    let first = json!({ "urls": [], "settings": settings, "more": true });
    let crawl = world.client().post("/v1/crawls", &first)["id"].as_str().unwrap().to_owned();
    let client = Arc::clone(&world.client);
    let id = crawl.clone();
    let reader = thread::spawn(move || read_feed(&client, &id));
    for (round, part) in urls.chunks(urls.len().div_ceil(rounds)).enumerate() {
        let before = world.recorded();
        let more = json!({ "urls": part, "last": round + 1 == rounds });
        world.client().post(&format!("/v1/crawls/{crawl}/urls"), &more);
        wait_for("something that is recorded", || {
            thread::sleep(Duration::from_millis(100));
            (world.recorded() > before).then_some(())
        });
        // Kill at a different moment of each round's recording.
        thread::sleep(Duration::from_millis(300 * (round as u64 % 4)));
        if round % 2 == 0 { world.kill_workers() } else { world.kill_service() }
    }
    let (pages, interruptions) = reader.join().unwrap();
    let places = world.places();
    let came: Vec<&String> = pages.iter().flatten().collect();
    let distinct: BTreeSet<&String> = came.iter().copied().collect();
    assert_eq!(came.len(), distinct.len(), "a fetch was returned twice");
    assert!(
        distinct.into_iter().eq(places.keys()),
        "{} of {} fetches were returned",
        came.len(),
        places.len()
    );
    assert_eq!(places.len(), urls.len());
    let late = late_pages(&pages, &places);
    println!("{} fetches, {interruptions} interruptions, {late} late pages", came.len());
    assert!(interruptions > 0, "nothing interrupted the reader");
    late
}

#[test]
fn a_feed_read_through_kills_and_late_commits_has_every_fetch_once_and_in_order() {
    // So few transactions may include no late one. coordinator-sql/tests/coordinator/api/feed.rs
    // tests late commits at chosen moments.
    read_while_killing(30, 5);
}

#[test]
#[ignore = "takes minutes: scripts/stress/chaos-crawl.sh"]
fn a_long_feed_read_through_kills_and_late_commits_has_every_fetch_once_and_in_order() {
    let rounds = usize::try_from(number("FEED_ROUNDS", 60)).unwrap();
    assert!(read_while_killing(400, rounds) > 0, "nothing committed late");
}
