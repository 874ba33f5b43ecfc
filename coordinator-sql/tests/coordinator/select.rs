//! Which icon of a host is best: the SQL passes the same table of cases as its twin in Rust.

use everytab_coordinator::{IconRow, JobKind, Output};
use serde::Deserialize;
use serde_json::json;

use crate::setup::{Database, icon, page, soon};

#[derive(Deserialize)]
struct Case {
    name: String,
    icons: Vec<Icon>,
    best_first: Vec<String>,
}

#[derive(Deserialize)]
struct Icon {
    url: String,
    apple_touch: bool,
    outcome: String,
    content_type: Option<String>,
    width: Option<i32>,
    height: Option<i32>,
    bytes: Option<i32>,
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../bundler/tests/select_cases.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn row(host_no: i32, place: usize, given: &Icon) -> IconRow {
    IconRow {
        touch: given.apple_touch,
        outcome: given.outcome.clone(),
        content_type: given.content_type.clone(),
        width: given.width,
        height: given.height,
        bytes: given.bytes,
        ..icon(host_no, i16::try_from(place).unwrap(), &given.url)
    }
}

/// One host a case, all in one shard; `turn` rotates the order in which icons are recorded.
async fn orders(turn: usize) -> Vec<Vec<String>> {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let cases = cases();
    let mut pages = Vec::new();
    let mut icons = Vec::new();
    for (host_no, case) in (0..).zip(&cases) {
        pages.push(page(host_no, &format!("host-{host_no}.example")));
        let mut rows: Vec<_> = (0..).zip(&case.icons).map(|(n, i)| row(host_no, n, i)).collect();
        if !rows.is_empty() {
            let by = turn % rows.len();
            rows.rotate_left(by);
        }
        icons.extend(rows);
    }
    for (kind, output) in
        [(JobKind::Warc, Output::Pages(pages)), (JobKind::Icon, Output::Icons(icons))]
    {
        let lease = database.lease_one(kind).await;
        database.worker.complete(lease, &output, &json!({}), soon()).await.unwrap();
    }
    let hosts = database.worker.load_bundle_shard(scan, 0).await.unwrap();
    assert_eq!(hosts.len(), cases.len());
    for (host, case) in hosts.iter().zip(&cases) {
        // Offsets say which record is meant: they must go along with their URLs.
        for (url, offset) in host.icon_urls.iter().zip(&host.archive_offsets) {
            let place = case.icons.iter().position(|icon| icon.url == *url).unwrap();
            assert_eq!(i64::try_from(place * 1_000).unwrap(), *offset, "{}", case.name);
        }
        assert_eq!(host.archive_lengths.len(), host.icon_urls.len());
    }
    hosts.into_iter().map(|host| host.icon_urls).collect()
}

#[tokio::test]
async fn every_case_of_the_shared_table_holds_in_any_input_order() {
    let cases = cases();
    assert!(cases.len() >= 30);
    for turn in 0..4 {
        for (found, case) in orders(turn).await.into_iter().zip(&cases) {
            assert_eq!(found, case.best_first, "{} (turn {turn})", case.name);
        }
    }
}
