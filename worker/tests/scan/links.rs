//! Tests link pages: what a messenger reads of a shared link, and that no page names a host that
//! was taken down.

use std::{collections::BTreeSet, fs, path::Path};

use everytab_bundler::link_page::LinkPage;
use everytab_testbed::Mix;
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores, internet},
    setup::{Running, files, folder, manifest, run, scan_locally, wait_for, worker},
};

pub(crate) fn assert_not_linked(site: &Path, host: &str) {
    for (name, bytes) in files(&site.join("t")) {
        assert!(
            !hosts_in(&String::from_utf8(bytes).unwrap()).contains(host),
            "{name} names {host}"
        );
    }
}

/// Returns everything in a page that may be a hostname.
fn hosts_in(html: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    html.split(|c| !is_of_name(c)).map(str::to_owned).collect()
}

/// Returns the value that follows `start`, up to the next quote.
fn tag(html: &str, start: &str) -> String {
    let found = html.split_once(start).unwrap_or_else(|| panic!("no {start} in {html}"));
    found.1.split('"').next().unwrap().to_owned()
}

fn entries(site: &Path, number: u64) -> Vec<String> {
    let manifest = manifest(site);
    let prefix = site.join(manifest["prefix"].as_str().unwrap());
    let original = format!("tabs/{number}.json");
    let path = manifest["overrides"][number.to_string()].as_str().unwrap_or(&original);
    let bundle: Value = serde_json::from_slice(&fs::read(prefix.join(path)).unwrap()).unwrap();
    let entries = bundle["entries"].as_array().unwrap().iter();
    entries.map(|tab| tab["url"].as_str().unwrap().split("//").nth(1).unwrap().to_owned()).collect()
}

struct Served<'a> {
    internet: &'a Internet,
    _server: Running,
    url: String,
    client: reqwest::Client,
}

impl<'a> Served<'a> {
    fn start(internet: &'a Internet, site: &Path) -> Self {
        let mut serve = worker(["serve", "--addr", "127.0.0.1:0"]);
        serve.arg(site);
        let server = Running::start(serve);
        let url =
            wait_for("the server", || server.stdout_text().strip_suffix('\n').map(str::to_owned));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { internet, _server: server, url, client }
    }

    fn get(&self, path: &str) -> (u16, String, String, Vec<u8>) {
        let request = self.client.get(format!("{}{path}", self.url));
        self.internet.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
            let (kind, rule) = (header("content-type"), header("cache-control"));
            let status = answer.status().as_u16();
            (status, kind, rule, answer.bytes().await.unwrap().to_vec())
        })
    }
}

#[test]
fn a_crawler_reads_title_address_and_picture_of_every_bundle() {
    let internet = internet(60, Mix::none());
    let stores = Stores::folders(&internet, internet.folder.path());
    let database = Database::new(&internet, stores);
    let site_url = "https://tabs.page/";
    let options = ["--entries-per-bundle", "4", "--site-url", site_url];
    database.start_scan(internet.crawl(), &options);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let site = internet.folder.path().join("site");
    let bundles = manifest(&site)["bundles"].as_u64().unwrap();
    assert!(bundles > 5, "{bundles}");
    assert_eq!(files(&site.join("t")).len() as u64, bundles);
    let served = Served::start(&internet, &site);
    let mut pictures = BTreeSet::new();
    let mut bytes = 0;
    let mut before = 0;
    for number in 0..bundles {
        let (status, kind, rule, body) = served.get(&format!("t/{number}.html"));
        let html = String::from_utf8(body).unwrap();
        assert_eq!(
            (status, kind.as_str(), rule.as_str()),
            (200, "text/html; charset=utf-8", "public, max-age=60, must-revalidate")
        );
        let hosts = entries(&site, number);
        let title = tag(&html, "property=\"og:title\" content=\"");
        assert!(html.contains(&format!("<title>{title}")), "{html}");
        assert!(hosts.is_empty() || hosts.iter().any(|host| title.starts_with(host)), "{title}");
        let address = format!("{site_url}t/{number}.html");
        assert_eq!(tag(&html, "rel=\"canonical\" href=\""), address);
        assert_eq!(tag(&html, "property=\"og:url\" content=\""), address);
        let named = tag(&html, "data-site=\"");
        assert_eq!(hosts.is_empty(), named.is_empty(), "{html}");
        assert_eq!(tag(&html, "data-first=\""), before.to_string());
        before += hosts.len();
        assert!(named.is_empty() || hosts.contains(&named), "{named}");
        let picture = tag(&html, "property=\"og:image\" content=\"");
        pictures.insert(picture.strip_prefix(site_url).unwrap().to_owned());
        let script = tag(&html, "<script src=\"../");
        let (status, kind, ..) = served.get(&script);
        assert_eq!((status, kind.as_str()), (200, "text/javascript; charset=utf-8"));
        bytes += html.len() as u64;
    }
    println!("{bundles} link pages have {bytes} bytes");
    assert_eq!(manifest(&site)["hosts"], before);
    let side = manifest(&site)["map"]["tile"].as_u64().unwrap();
    for picture in pictures {
        let (status, kind, _, body) = served.get(&picture);
        assert_eq!((status, kind.as_str()), (200, "image/jpeg"), "{picture}");
        let shown = everytab_icon::mosaic::Mosaic::read(&body).unwrap();
        assert_eq!(shown.width() as u64, side);
    }
    let (status, _, rule, body) = served.get(&format!("t/{bundles}.html"));
    assert_eq!((status, rule.as_str()), (404, "no-store"));
    assert!(String::from_utf8(body).unwrap().contains("/js/link."), "404.html leads on");
    let robots = String::from_utf8(served.get("robots.txt").3).unwrap();
    assert!(robots.contains("\nAllow: /scans/*/map/0/\n"), "crawlers may fetch the picture");
}

#[test]
fn a_takedown_takes_the_host_out_of_its_link_page_whichever_scan_wrote_it() {
    let folder = folder();
    let sample = ["--sample", "--sample-hosts", "200", "--entries-per-bundle", "4"];
    scan_locally(folder.path(), 1, &sample);
    let site = folder.path().join("site");
    let store = site.display().to_string();
    let page = |number: u64| fs::read_to_string(site.join(format!("t/{number}.html"))).unwrap();
    let number = (0..).find(|number| entries(&site, *number).len() > 2).unwrap();
    let host = tag(&page(number), "data-site=\"");
    assert!(hosts_in(&page(number)).contains(&host));
    let before = entries(&site, number).len();
    let (later, first) = (page(number + 2), tag(&page(number), "data-first=\""));
    // A takedown from this scan must not change another scan's page.
    let others = page(number).replace("data-scan=\"scans/", "data-scan=\"scans/other-");
    let other = site.join(format!("t/{}.html", number + 1));
    fs::write(&other, &others).unwrap();
    run(worker(["takedown", &host, "--site", &store])).expect_code(0);
    let html = page(number);
    assert!(!hosts_in(&html).contains(&host), "{html}");
    assert_eq!(tag(&html, "data-tabs=\""), (before - 1).to_string());
    assert_eq!(tag(&html, "data-first=\""), first);
    assert_eq!(page(number + 2), later);
    assert_ne!(tag(&html, "data-site=\""), "");
    assert_eq!(fs::read_to_string(&other).unwrap(), others);
    // A damaged page loses all names.
    let second = tag(&html, "data-site=\"");
    let damaged = format!("<p>{second}</p>");
    fs::write(site.join(format!("t/{number}.html")), damaged).unwrap();
    run(worker(["takedown", &second, "--site", &store])).expect_code(0);
    let html = page(number);
    assert!(!hosts_in(&html).contains(&second) && html.contains("<a href=\"../\">"), "{html}");
}

#[test]
fn publishing_again_after_a_takedown_counts_the_tabs_again() {
    let internet = internet(60, Mix::none());
    let stores = Stores::folders(&internet, internet.folder.path());
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &["--entries-per-bundle", "4"]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let site = internet.folder.path().join("site");
    let page = |number: u64| fs::read_to_string(site.join(format!("t/{number}.html"))).unwrap();
    let number = (0..).find(|number| entries(&site, *number).len() > 2).unwrap();
    let host = tag(&page(number), "data-site=\"");
    let first = |number| tag(&page(number), "data-first=\"").parse::<u64>().unwrap();
    let before = [first(number), first(number + 1)];
    run(worker(["takedown", &host, "--site", &site.display().to_string()])).expect_code(0);
    run(database.owner(&["publish"])).expect_code(0);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert!(!hosts_in(&page(number)).contains(&host));
    assert_eq!([first(number), first(number + 1)], [before[0], before[1] - 1]);
}

#[test]
fn pages_beyond_a_later_scans_bundles_lose_their_names_and_lead_on() {
    let internet = internet(60, Mix::none());
    let stores = Stores::folders(&internet, internet.folder.path());
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &["--entries-per-bundle", "4"]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let site = internet.folder.path().join("site");
    let first = manifest(&site)["bundles"].as_u64().unwrap();
    database.start_scan(internet.crawl(), &["--entries-per-bundle", "20"]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let second = manifest(&site)["bundles"].as_u64().unwrap();
    let scan = manifest(&site)["scan"].as_str().unwrap().to_owned();
    assert!(second < first, "{second} bundles after {first}");
    for number in 0..first {
        let bytes = fs::read(site.join(format!("t/{number}.html"))).unwrap();
        let page = LinkPage::read(i32::try_from(number).unwrap(), &bytes).unwrap();
        assert!(page.script.starts_with("js/link."), "{page:?}");
        if number < second {
            assert_eq!(page.prefix, format!("scans/{scan}/"));
            assert_eq!(page.tabs as usize, entries(&site, number).len());
        } else {
            assert_eq!((page.names.len(), page.tabs, page.prefix.as_str()), (0, 0, ""));
            assert_eq!(page.picture, None);
        }
    }
}
