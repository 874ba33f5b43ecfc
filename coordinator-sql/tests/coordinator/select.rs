//! Tests the choice of a host's best icon. The SQL must pass the same cases as its model in Rust.

use everytab_coordinator::{BundleHost, IconRow, JobKind, Output};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde::Deserialize;

use crate::{
    select_model::{Candidate, best_first},
    setup::{Database, icon, no_counts, page, soon},
};

#[derive(Deserialize)]
struct Case {
    name: String,
    icons: Vec<Icon>,
    best_first: Vec<String>,
}

#[derive(Debug, Deserialize)]
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
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/select_cases.json");
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

/// `turn` rotates the order in which icons are recorded.
async fn orders(cases: &[Case], turn: usize) -> Vec<Vec<String>> {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let mut pages = Vec::new();
    let mut icons = Vec::new();
    for (host_no, case) in (0..).zip(cases) {
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
        database.worker.complete(lease, &output, &no_counts(), soon()).await.unwrap();
    }
    let hosts = database.worker.load_bundle_shard(scan, 0).await.unwrap();
    assert_eq!(hosts.len(), cases.len());
    let urls = |(host, case): (&BundleHost, &Case)| {
        assert_eq!(host.archive_lengths.len(), host.archive_offsets.len());
        let url = |offset: &i64| case.icons[usize::try_from(offset / 1_000).unwrap()].url.clone();
        host.archive_offsets.iter().map(url).collect()
    };
    hosts.iter().zip(cases).map(urls).collect()
}

#[tokio::test]
async fn the_sql_passes_every_case_in_any_input_order() {
    let cases = cases();
    assert!(cases.len() >= 30);
    for turn in 0..4 {
        for (found, case) in orders(&cases, turn).await.into_iter().zip(&cases) {
            assert_eq!(found, case.best_first, "{} (turn {turn})", case.name);
        }
    }
}

#[test]
fn the_model_passes_every_case_in_any_input_order() {
    for mut case in cases() {
        for _ in 0..case.icons.len().max(1) {
            assert_eq!(by_model(&case.icons), case.best_first, "{}", case.name);
            let step = usize::from(!case.icons.is_empty());
            case.icons.rotate_left(step);
        }
    }
}

/// Uses few values for each property, including boundary values, so that ties are common.
fn any_icon() -> impl Strategy<Value = Icon> {
    let side = || {
        let near = prop::sample::select(vec![1, 2, 3, 16, 31, 32, 33, 48, 180, 2048]);
        prop_oneof![Just(None), near.prop_map(Some), (1..100).prop_map(Some)]
    };
    let kind = prop::sample::select(vec![
        None,
        Some("image/png"),
        Some("image/svg+xml"),
        Some("image/x-icon"),
        Some("image/gif"),
        Some("image/jpeg"),
        Some("image/bmp"),
        Some("image/webp"),
        Some("image/avif"),
        Some("text/html"),
    ]);
    let outcome = prop::sample::select(vec!["ok", "ok", "ok", "ok", "image_corrupt", "http_5xx"]);
    let bytes = prop::sample::select(vec![None, Some(1), Some(500), Some(501), Some(524_288)]);
    let square = prop::bool::weighted(0.7);
    let path = "[a-cA-C0é日~%-]{0,3}";
    (path, any::<bool>(), outcome, kind, (side(), side(), square), bytes).prop_map(
        |(path, apple_touch, outcome, kind, (width, height, square), bytes)| Icon {
            url: format!("https://h.example/{path}"),
            apple_touch,
            outcome: outcome.to_owned(),
            content_type: kind.map(str::to_owned),
            width,
            height: if square { width } else { height },
            bytes,
        },
    )
}

fn by_model(icons: &[Icon]) -> Vec<String> {
    let unsigned = |side: Option<i32>| side.map(i32::unsigned_abs);
    let candidates: Vec<Candidate<'_>> = icons
        .iter()
        .map(|icon| Candidate {
            url: &icon.url,
            apple_touch: icon.apple_touch,
            outcome: &icon.outcome,
            content_type: icon.content_type.as_deref(),
            width: unsigned(icon.width),
            height: unsigned(icon.height),
            bytes: unsigned(icon.bytes).map(u64::from),
        })
        .collect();
    best_first(&candidates).into_iter().map(|place| icons[place].url.clone()).collect()
}

#[tokio::test]
async fn sql_and_its_model_order_random_icons_alike() {
    let mut runner = TestRunner::default();
    let hosts = proptest::collection::vec(proptest::collection::vec(any_icon(), 0..12), 600);
    let hosts = hosts.new_tree(&mut runner).unwrap().current();
    let cases: Vec<Case> = hosts
        .into_iter()
        .map(|mut icons| {
            icons.sort_by(|one, other| one.url.cmp(&other.url));
            icons.dedup_by(|one, other| one.url == other.url);
            Case { name: format!("{icons:?}"), best_first: by_model(&icons), icons }
        })
        .collect();
    assert!(cases.iter().map(|case| case.best_first.len()).sum::<usize>() > 1_000);
    for (found, case) in orders(&cases, 3).await.into_iter().zip(&cases) {
        assert_eq!(found, case.best_first, "{}", case.name);
    }
}
