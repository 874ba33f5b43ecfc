//! Tests the address guard for every way in which a URL enters a live crawl. In a network where
//! every address responds, the real service and worker must connect only to public addresses.
//!
//! Imported URL lists are not tested, because their lines are only compared.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr},
};

use serde_json::{Value, json};

use crate::{
    address_guard::{PUBLIC, resolve, serve_all_addresses_with, special_addresses, spellings},
    api_client::Client,
    api_walkthrough::{key, service},
    environment::{Database, Stores},
    live_crawls::graph_of_sites,
    netns::in_own_namespaces,
    setup::{Running, wait_for, worker},
};

const REFUSED: &str = "ip_blocked";

/// Returns hosts that lead to special addresses: each spelling of each address, and names.
fn hosts(names: &mut BTreeMap<String, Vec<IpAddr>>) -> Vec<String> {
    let [public, _, public6, _] = PUBLIC.map(|text| text.parse::<IpAddr>().unwrap());
    let mut hosts = vec!["localhost".to_owned(), "x.localhost".to_owned()];
    for (number, address) in special_addresses().into_iter().enumerate() {
        hosts.extend(spellings(address));
        let beside = if address.is_ipv4() { public } else { public6 };
        for (label, addresses) in [("alone", vec![address]), ("beside", vec![beside, address])] {
            let name = format!("{label}-{number}.test");
            hosts.push(name.clone());
            names.insert(name, addresses);
        }
    }
    names.insert("metadata.google.internal".to_owned(), vec!["169.254.169.254".parse().unwrap()]);
    hosts.push("metadata.google.internal".to_owned());
    hosts
}

/// Returns a host that redirects, with its public address. Each target has its own redirecting
/// host, because requests to a single one would wait for its delay.
fn redirecting(number: usize) -> (String, IpAddr) {
    let last = u8::try_from(number % 250).unwrap();
    (format!("redirect-{number}.test"), Ipv4Addr::new(93, 184, 217, last).into())
}

/// Returns a host whose robots.txt redirects, with its public address.
fn with_robots(number: usize) -> (String, IpAddr) {
    let last = u8::try_from(number % 250).unwrap();
    (format!("robots-{number}.test"), Ipv4Addr::new(93, 184, 218, last).into())
}

/// Returns the public hosts' files, which lead to the special hosts.
fn files(hosts: &[String]) -> BTreeMap<String, String> {
    let named = hosts.iter().map(|host| format!("Sitemap: http://{host}/named.xml\n"));
    let robots =
        format!("Sitemap: http://{}/sitemap.xml\n{}", PUBLIC[0], named.collect::<String>());
    let listed = hosts.iter().map(|host| format!("<url><loc>http://{host}/listed</loc></url>"));
    let sitemap = format!("<urlset>{}</urlset>", listed.collect::<String>());
    let links = hosts.iter().map(|host| format!("<a href='http://{host}/linked'>{host}</a>"));
    let page = format!("<!doctype html><title>links</title>{}", links.collect::<String>());
    let redirect = |(number, host): (usize, &String)| {
        (format!("{}/robots.txt", with_robots(number).0), format!("http://{host}/robots.txt"))
    };
    let files = [("/robots.txt", robots), ("/sitemap.xml", sitemap), ("/page", page)];
    let files = files.map(|(path, body)| (path.to_owned(), body));
    files.into_iter().chain(hosts.iter().enumerate().map(redirect)).collect()
}

/// Submits URLs in each way, with the way's name as their path.
fn submit(client: &Client, hosts: &[String]) {
    let urls = |door: &str| -> Vec<String> {
        hosts.iter().map(|host| format!("http://{host}/{door}")).collect()
    };
    for url in urls("submit") {
        let (status, answer) = client.send("POST", "/v1/url", &json!({ "url": url }));
        assert!([202, 400].contains(&status), "{url}: {answer}");
    }
    client.post("/v1/url/batch", &json!({ "urls": urls("batch") }));
    let settings = json!({ "scope": "page", "depth": 0 });
    let seeds = json!({ "urls": urls("seeds"), "settings": settings, "more": true });
    let crawl = client.post("/v1/crawls", &seeds);
    let more = format!("/v1/crawls/{}/urls", crawl["id"].as_str().unwrap());
    client.post(&more, &json!({ "urls": urls("more"), "last": true }));
    let schedule = json!({ "every": "1h", "urls": urls("schedule"), "settings": settings });
    client.post("/v1/url/schedule", &schedule);
    // A public host's robots.txt and sitemap lead to the hosts.
    let settings = json!({ "scope": "any", "depth": 1 });
    let home = [format!("http://{}/", PUBLIC[0])];
    client.post("/v1/crawls", &json!({ "urls": home, "settings": settings }));
    let settings = json!({ "scope": "any", "depth": 1, "sitemaps": "off" });
    let redirect = |(number, host): (usize, &String)| {
        format!("http://{}/to?http://{host}/redirected", redirecting(number).0)
    };
    let mut urls: Vec<String> = hosts.iter().enumerate().map(redirect).collect();
    urls.push(format!("http://{}/page", redirecting(0).0));
    // A robots.txt that redirects to a forbidden address counts as missing, so the page is fetched.
    urls.extend((0..hosts.len()).map(|number| format!("http://{}/page", with_robots(number).0)));
    client.post("/v1/crawls", &json!({ "urls": urls, "settings": settings }));
}

/// Returns whether this many crawls have fetched all their known URLs.
fn have_answered(client: &Client, crawls: usize) -> bool {
    let (_, list) = client.send("GET", "/v1/crawls", &Value::Null);
    let list = list["crawls"].as_array().cloned().unwrap_or_default();
    list.len() == crawls
        && list
            .iter()
            .all(|crawl| crawl["known"] != 0 && crawl["pending"] == 0 && crawl["unread"] == 0)
}

#[test]
fn no_url_in_a_crawl_leads_to_an_address_that_is_not_public() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let internet = graph_of_sites(24, 2, 4);
        let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
        let store = internet.folder.path().join("crawls");
        let mut names = BTreeMap::new();
        let mut hosts = hosts(&mut names);
        let dialled = serve_all_addresses_with(files(&hosts));
        // One more, for the host with the public address below.
        for number in 0..=hosts.len() {
            for (name, address) in [redirecting(number), with_robots(number)] {
                names.insert(name, vec![address]);
            }
        }
        let resolver = resolve(names).to_string();
        let (service, address) = service(&database, &store, &[]);
        let generous = ["--requests-per-second", "1000", "--burst", "100000"];
        let client = Client { address, key: key(&database, "a person", &generous) };
        hosts.push(PUBLIC[0].to_owned());
        submit(&client, &hosts);
        database.psql("update everytab.schedules set next_at = now()");
        // The guard for the public internet, because the small internet is on loopback.
        let public = ["--internet", "public", "--user-agent", "Bot/1.0 (+https://bot.page)"];
        let mut crawler =
            worker([&["run", "--role", "crawl", "--dns", &resolver], &public[..]].concat());
        crawler.env("DATABASE_URL", &database.worker_url);
        let crawler = Running::start(crawler);
        wait_for("five crawls", || have_answered(&client, 5).then_some(()));

        let asked = "select split_part(url, '/', 4), outcome, count(*) from everytab.fetches \
                     where url not like '%//93.184.216.34/%' and url not like 'http://redirect-%' \
                     and url not like 'http://robots-%' \
                     group by 1, 2 order by 1, 2";
        let found = database.psql(asked);
        let mut doors = BTreeSet::new();
        for line in found.lines().filter(|line| !line.is_empty()) {
            let mut parts = line.split('|');
            let (door, outcome) = (parts.next().unwrap(), parts.next().unwrap());
            let count: u32 = parts.next().unwrap().parse().unwrap();
            assert_eq!(outcome, REFUSED, "{found}");
            assert!(count > 200, "{found}");
            doors.insert(door.to_owned());
        }
        let from_outside = ["batch", "more", "schedule", "seeds", "submit"];
        let from_pages = ["linked", "listed", "named.xml", "redirected"];
        let all = from_outside.into_iter().chain(from_pages).map(str::to_owned);
        assert_eq!(doors, all.collect(), "{found}");
        let mut public: BTreeSet<IpAddr> = [PUBLIC[0].parse().unwrap()].into();
        for number in 0..hosts.len() {
            public.extend([redirecting(number).1, with_robots(number).1]);
        }
        assert_eq!(*dialled.lock().unwrap(), public, "dialled");

        crawler.terminate();
        crawler.finish().expect_code(4);
        service.terminate();
        service.finish().expect_code(4);
    });
}
