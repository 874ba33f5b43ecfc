//! Tests takedowns on sites in a directory.

use std::path::Path;

use everytab_bundler::{
    bundle::{self, Tab},
    search::{SearchEntry, read_lines, search_key, write_lines},
};
use serde_json::{Value, json};

use super::*;

const PREFIX: &str = "scans/01900000-0000-7000-8000-000000000001/";

fn tab(hostname: &str) -> Tab {
    let title = format!("</title> of {hostname}");
    Tab { url: format!("https://{hostname}"), title, icon: None, iframe_ok: true }
}

fn write(root: &Path, key: &str, bytes: &[u8]) {
    let path = root.join(key);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn site(bundles: &[&[&str]]) -> tempfile::TempDir {
    let root = tempfile::TempDir::new().unwrap();
    let mut entries = Vec::new();
    for (number, hostnames) in (0..).zip(bundles) {
        let tabs: Vec<Tab> = hostnames.iter().map(|hostname| tab(hostname)).collect();
        write(root.path(), &format!("{PREFIX}tabs/{number}.json"), &bundle::write(&tabs));
        for (slot, hostname) in (0..).zip(*hostnames) {
            entries.push(SearchEntry::new((*hostname).into(), number, slot));
        }
    }
    entries.sort_by_key(|e| (search_key(&e.hostname).into_owned(), e.hostname.clone()));
    for range in 0..28 {
        let mine: Vec<SearchEntry> =
            entries.iter().filter(|e| range_of(&e.hostname) == range).cloned().collect();
        let mut index = String::new();
        for (number, lines) in mine.chunks(2).enumerate() {
            index.push_str(&format!("{}\n", search_key(&lines[0].hostname)));
            let key = format!("{PREFIX}search/{range}/{number}.tsv");
            write(root.path(), &key, write_lines(lines).as_bytes());
        }
        write(root.path(), &format!("{PREFIX}search/{range}/index.tsv"), index.as_bytes());
    }
    let hosts: usize = bundles.iter().map(|hostnames| hostnames.len()).sum();
    let manifest = json!({
        "scan": "01900000-0000-7000-8000-000000000001", "crawl": "CC-MAIN-2099-01",
        "bundles": bundles.len(), "prefix": PREFIX, "generated_at": "x", "hosts": hosts,
        "with_icon": 0, "kept": "unknown fields",
    });
    write(root.path(), "manifest.json", manifest.to_string().as_bytes());
    root
}

struct NoLines;

impl LineSink for NoLines {
    fn data(&self, _line: std::fmt::Arguments<'_>) -> Result<(), OperationError> {
        Ok(())
    }

    fn note(&self, _line: std::fmt::Arguments<'_>) {}
}

async fn take_down(root: &Path, hosts: &[&str]) -> bool {
    take_down_all(root, PatternKind::Hostname, hosts).await
}

async fn take_down_all(root: &Path, kind: PatternKind, patterns: &[&str]) -> bool {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    let options = TakedownOptions {
        patterns: Patterns::check(kind, &patterns).unwrap(),
        site: root.display().to_string(),
        private: Some(root.join("private").display().to_string()),
        distribution: None,
        reason: Some("asked\nto".into()),
    };
    super::take_down(options, &NoLines).await.unwrap()
}

fn manifest(root: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(root.join("manifest.json")).unwrap()).unwrap()
}

fn shown(root: &Path) -> Vec<(i32, i32, String)> {
    let manifest = manifest(root);
    let mut shown = Vec::new();
    for number in 0..manifest["bundles"].as_i64().unwrap() as i32 {
        let original = format!("tabs/{number}.json");
        let path = manifest["overrides"][number.to_string()].as_str().unwrap_or(&original);
        let bytes = std::fs::read(root.join(PREFIX).join(path)).unwrap();
        let bundle: Value = serde_json::from_slice(&bytes).unwrap();
        for (slot, entry) in (0..).zip(bundle["entries"].as_array().unwrap()) {
            let hostname = entry["url"].as_str().unwrap().trim_start_matches("https://");
            assert_eq!(entry["title"], format!("</title> of {hostname}"));
            shown.push((number, slot, hostname.to_owned()));
        }
    }
    shown.sort();
    shown
}

fn searched(root: &Path) -> Vec<(i32, i32, String)> {
    let mut searched = Vec::new();
    for range in 0..28 {
        let folder = root.join(PREFIX).join(format!("search/{range}"));
        let index = std::fs::read_to_string(folder.join("index.tsv")).unwrap();
        for (number, first) in index.lines().enumerate() {
            let bytes = std::fs::read(folder.join(format!("{number}.tsv"))).unwrap();
            for line in read_lines(&bytes).unwrap() {
                assert!(*search_key(&line.hostname) >= *first, "{line:?} in {range}/{number}");
                searched.push((line.bundle, line.slot, line.hostname));
            }
        }
    }
    searched.sort();
    searched
}

fn assert_forgotten(root: &Path, hostname: &str) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("private/blocklist.txt") {
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                assert!(!text.contains(hostname), "{} names {hostname}", path.display());
            }
        }
    }
}

const HOSTS: [&[&str]; 3] = [
    &["apple.example", "beta.example", "www.apple.example", "avocado.example"],
    &["zeta.example"],
    &["aa.example", "ab.example", "1st.example"],
];

#[tokio::test]
async fn a_host_is_gone_everywhere_and_search_finds_all_others_where_they_are() {
    for host in HOSTS.concat() {
        let root = site(&HOSTS);
        let root = root.path();
        assert!(take_down(root, &[host]).await, "{host}");
        assert_eq!(shown(root), searched(root), "{host}");
        assert_eq!(shown(root).len(), 7, "{host}");
        if host != "apple.example" {
            assert_forgotten(root, host);
        }
        let manifest = manifest(root);
        assert_eq!((&manifest["hosts"], &manifest["kept"]), (&json!(7), &json!("unknown fields")));
        let list = std::fs::read_to_string(root.join("private/blocklist.txt")).unwrap();
        assert_eq!(list, format!("{host} # askedto\n"));
        let before = (manifest, shown(root));
        assert!(take_down(root, &[host]).await, "{host} again");
        assert_eq!((self::manifest(root), shown(root)), before, "{host} again");
    }
}

#[tokio::test]
async fn all_hosts_of_a_site_can_go_one_by_one_or_together() {
    let together = site(&HOSTS);
    assert!(take_down(together.path(), &HOSTS.concat()).await);
    let one_by_one = site(&HOSTS);
    for host in HOSTS.concat() {
        assert!(take_down(one_by_one.path(), &[host]).await);
        assert_eq!(shown(one_by_one.path()), searched(one_by_one.path()));
    }
    for root in [together, one_by_one] {
        assert_eq!((shown(root.path()), searched(root.path())), (vec![], vec![]));
        assert_eq!(manifest(root.path())["hosts"], 0);
        assert_forgotten(root.path(), ".example");
    }
}

#[tokio::test]
async fn a_takedown_that_was_cut_off_before_the_search_files_is_finished_by_the_next() {
    let root = site(&HOSTS);
    let root = root.path();
    let place = root.display().to_string();
    let settings = StoreSettings::default();
    let store = everytab_storage::open(&place, &settings).await.unwrap();
    let mut excluded = RemovedTabs::default();
    excluded.add(PatternKind::Hostname, "apple.example");
    let half = Takedown { sink: &NoLines, site: store, distribution: None, excluded };
    half.remove_tabs().await.unwrap();
    assert_ne!(shown(root), searched(root));
    // Another run removes the tab that moved into the removed tab's slot.
    assert!(take_down(root, &["avocado.example"]).await);
    assert!(take_down(root, &["apple.example"]).await);
    assert_eq!(shown(root), searched(root));
    assert_eq!(shown(root).len(), 6);
}

#[test]
fn many_ranges_of_names_are_invalidated_by_one_wildcard() {
    let paths = |ranges: std::ops::Range<usize>| -> Vec<String> {
        search_paths(PREFIX, ranges.collect()).into_iter().collect()
    };
    let path = |end: &str| format!("/{PREFIX}search/{end}*");
    assert_eq!(paths(0..0), [""; 0]);
    assert_eq!(paths(3..5), [path("3/"), path("4/"), path("words/")]);
    assert_eq!(paths(0..28), [path("")]);
}

#[tokio::test]
async fn a_host_without_a_tab_is_blocked_all_the_same() {
    let root = site(&HOSTS);
    assert!(!take_down(root.path(), &["None.Example", "beta.example"]).await);
    let list = std::fs::read_to_string(root.path().join("private/blocklist.txt")).unwrap();
    assert_eq!(list, "beta.example # askedto\nnone.example # askedto\n");
    assert_eq!(shown(root.path()).len(), 7, "the other host is gone");
}

#[tokio::test]
async fn a_title_is_taken_down_everywhere_and_again_after_an_interruption() {
    let root = site(&[&["a.example", "b.example", "c.example"], &["ab.example"]]);
    let root = root.path();
    assert!(!take_down_all(root, PatternKind::Title, &["%nothing%"]).await);
    // This simulates a first run that was interrupted after it wrote the search files.
    let key = format!("{PREFIX}search/{}/0.tsv", range_of("a.example"));
    let lines = std::fs::read_to_string(root.join(&key)).unwrap();
    let rest: String = lines.split_inclusive('\n').filter(|l| !l.starts_with("a.ex")).collect();
    assert_ne!(rest, lines);
    write(root, &key, rest.as_bytes());
    assert!(take_down_all(root, PatternKind::Title, &["%TITLE> of A%"]).await);
    let hosts: Vec<String> = shown(root).into_iter().map(|(_, _, host)| host).collect();
    assert_eq!(hosts, ["c.example", "b.example"]);
    assert_eq!(searched(root), shown(root));
    assert_eq!(manifest(root)["hosts"], 2);
    assert!(take_down_all(root, PatternKind::Title, &["%TITLE> of A%"]).await, "it is down");
    let without_lists = TakedownOptions {
        patterns: Patterns::check(PatternKind::Sha256, &["00".repeat(32)]).unwrap(),
        site: root.display().to_string(),
        private: None,
        distribution: None,
        reason: None,
    };
    assert!(!super::take_down(without_lists, &NoLines).await.unwrap(), "it cannot be searched");
}
