//! Tests that two keys crawl the same sites at the same time, each with its own delay, and that
//! neither slows down the other.

use std::{collections::BTreeSet, time::Duration};

use everytab_testbed::{
    AccessLine, AccessLogTarget, GraphSettings, PageSpread, PolitenessFault, Settings,
    check_politeness,
};
use serde_json::json;

use crate::{
    api_client::Client,
    api_walkthrough::{key, service},
    environment::{Database, Internet, Stores, internet_with},
    live_crawls::{crawler, expected, graph},
    setup::wait_for,
};

/// The hurried key's delay.
const SHORT: Duration = Duration::from_millis(300);
/// The patient key's delay.
const LONG: Duration = Duration::from_millis(700);
/// The patient key's delay for one site.
const OVERRIDE: Duration = Duration::from_millis(1_500);
const MAX_LINES: usize = 100_000;

fn ms(delay: Duration) -> u64 {
    u64::try_from(delay.as_millis()).unwrap()
}

struct Tenant {
    client: Client,
    urls: BTreeSet<String>,
    crawl: String,
}

impl Tenant {
    fn start(client: Client, urls: BTreeSet<String>, delay: Duration) -> Self {
        let settings =
            json!({ "scope": "page", "depth": 0, "delay_ms": ms(delay), "sitemaps": "off" });
        let started = client.post("/v1/crawls", &json!({ "urls": urls, "settings": settings }));
        Self { client, urls, crawl: started["id"].as_str().unwrap().to_owned() }
    }

    /// Waits until the crawl has ended. It must have captured all its URLs.
    fn finish(&self) {
        let ended = wait_for("the end of a crawl", || {
            let crawl = self.client.get(&format!("/v1/crawls/{}?wait=5", self.crawl));
            (crawl["state"] == "ended").then_some(crawl)
        });
        assert_eq!(ended["captured"], self.urls.len(), "{ended}");
    }

    fn lines(&self, log: &[AccessLine]) -> Vec<AccessLine> {
        let asked = |line: &&AccessLine| {
            ["http", "https"]
                .iter()
                .any(|scheme| self.urls.contains(&format!("{scheme}://{}{}", line.host, line.path)))
        };
        log.iter().filter(asked).cloned().collect()
    }
}

fn world() -> (Internet, Database) {
    let plain = GraphSettings::plain(12, 6, 240);
    let graph = GraphSettings {
        spread: PageSpread::Equal,
        crawl_delay: 250,
        crawl_delay_ms: (1_000, 1_200),
        ..plain
    };
    let internet = internet_with(|scratch| Settings::graph(32, graph, scratch));
    internet.running.log_accesses(&AccessLogTarget::Memory(MAX_LINES)).unwrap();
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    (internet, database)
}

#[test]
fn two_keys_on_the_same_sites_obey_their_own_delays_and_the_sites() {
    let (internet, database) = world();
    let graph = graph(&internet);
    let (service, address) = service(&database, &internet.folder.path().join("crawls"), &[]);
    let client = |name| Client { address: address.clone(), key: key(&database, name, &[]) };
    let (hurried, patient) = (client("hurried"), client("patient"));
    let site = graph.site_name(0);
    patient.post("/v1/url/robots", &json!({ "site": site, "delay_ms": ms(OVERRIDE) }));
    let (mut even, mut odd) = (BTreeSet::new(), BTreeSet::new());
    for (number, url) in expected(&internet).into_keys().enumerate() {
        if number % 2 == 0 {
            even.insert(url)
        } else {
            odd.insert(url)
        };
    }
    let workers = [crawler(&internet, &database, &[]), crawler(&internet, &database, &[])];
    let patient = Tenant::start(patient, odd, LONG);
    let hurried = Tenant::start(hurried, even, SHORT);
    hurried.finish();
    patient.finish();

    let log = internet.running.access_lines();
    let of_site = |host: &str, delay: Duration| {
        let crawl_delay = graph.host_of_name(host).and_then(|host| graph.crawl_delay(host));
        crawl_delay.unwrap_or_default().max(delay)
    };
    let of_patient = |host: &str| {
        let is_overridden = host == site || host.ends_with(&format!(".{site}"));
        of_site(host, if is_overridden { OVERRIDE } else { LONG })
    };
    let none: [PolitenessFault; 0] = [];
    assert_eq!(check_politeness(&log, |host| of_site(host, SHORT)), none, "of any two requests");
    let (lines, late) = (hurried.lines(&log), patient.lines(&log));
    assert_eq!((lines.len(), late.len()), (hurried.urls.len(), patient.urls.len()));
    assert_eq!(check_politeness(&late, of_patient), none, "of the patient key's requests");
    // On every host, the hurried key sends requests while the other key waits.
    for host in (0..graph.hosts()).map(|host| graph.host_name(host)) {
        let times = |lines: &[AccessLine]| {
            let of_host = lines.iter().filter(|line| line.host == host);
            let mut times: Vec<u64> = of_host.map(|line| line.start_us).collect();
            times.sort_unstable();
            times
        };
        let (own, other) = (times(&lines), times(&late));
        let is_between = |two: &[u64]| own.iter().any(|time| (two[0]..two[1]).contains(time));
        assert!(other.windows(2).any(is_between), "{host}: {own:?} {other:?}");
    }
    for process in workers.into_iter().chain([service]) {
        process.terminate();
        process.finish().expect_code(4);
    }
}
