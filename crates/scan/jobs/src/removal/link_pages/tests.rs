//! Tests link pages while a removal and a publishing run at the same time, and names from damaged
//! search files.

use std::sync::Arc;

use everytab_bundler::{
    bundle::{self, Tab},
    object_names::map_repaint_path,
    search::write_lines,
};
use everytab_fetcher::Heartbeat;
use everytab_storage::{PutOptions, Store, StoreSettings};

use super::*;

const PREFIX: &str = "scans/a/";

async fn open(folder: &std::path::Path) -> Arc<dyn Store> {
    let url = format!("file://{}", folder.display());
    everytab_storage::open(&url, &StoreSettings::default()).await.unwrap()
}

async fn put(site: &dyn Store, key: &str, bytes: impl Into<Vec<u8>>) {
    site.put(key, bytes.into().into(), PutOptions::default()).await.unwrap();
}

fn page(bundle: i32, prefix: &str) -> LinkPage {
    LinkPage {
        bundle,
        tabs: 2,
        first: Some(240),
        names: ["gone.example", "left.example"].map(str::to_owned).to_vec(),
        prefix: prefix.to_owned(),
        script: "js/link.js".to_owned(),
        ..LinkPage::default()
    }
}

#[tokio::test]
async fn publishing_corrects_pages_that_it_wrote_from_names_before_a_removal() {
    let folder = tempfile::tempdir().unwrap();
    let site = open(folder.path()).await;
    let left = Tab {
        url: "https://left.example".to_owned(),
        title: "Left".to_owned(),
        icon: None,
        iframe_ok: true,
    };
    for number in 0..3 {
        let key = format!("{PREFIX}{}", bundle_path(number));
        put(&*site, &key, bundle::write(std::slice::from_ref(&left))).await;
    }
    // The removal noted the first two bundles. The second page belongs to another scan.
    for (number, prefix, is_noted) in [(0, PREFIX, true), (1, "scans/b/", true), (2, PREFIX, false)]
    {
        put(&*site, &link_page(number), page(number, prefix).write()).await;
        if is_noted {
            put(&*site, &format!("{PREFIX}{}", map_repaint_path(number)), Vec::new()).await;
        }
    }
    let heartbeat = Heartbeat::default();
    let objects = ScanObjects::new(&*site, PREFIX, &heartbeat);
    for _ in 0..2 {
        objects.correct_noted_link_pages().await.unwrap();
        let read = async |number| {
            LinkPage::read(number, &site.get(&link_page(number)).await.unwrap()).unwrap()
        };
        let corrected =
            LinkPage { names: vec!["left.example".to_owned()], tabs: 1, ..page(0, PREFIX) };
        assert_eq!(read(0).await, corrected);
        assert_eq!(read(1).await, page(1, "scans/b/"));
        assert_eq!(read(2).await, page(2, PREFIX));
    }
}

#[tokio::test]
async fn missing_and_damaged_search_files_leave_their_names_out() {
    let folder = tempfile::tempdir().unwrap();
    let site = open(folder.path()).await;
    let ranked = |name: &str, bundle, rank| {
        let entry = SearchEntry::new(name.to_owned(), bundle, 0);
        write_lines(&[SearchEntry { rank, ..entry }])
    };
    for (range, number, lines) in [
        (0, 0, ranked("long-but-known.example", 0, Some(5))),
        (0, 1, "damaged".to_owned()),
        (2, 0, ranked("a.example", 0, None) + &ranked("b.example", 9, None)),
    ] {
        let key = format!("{PREFIX}{}", search_file_path(range, number));
        put(&*site, &key, lines).await;
    }
    for (range, index) in [(0, "a\nb\n"), (1, "never-written\n"), (2, "a\n")] {
        put(&*site, &format!("{PREFIX}{}", search_index_path(range)), index).await;
    }
    let heartbeat = Heartbeat::default();
    let objects = ScanObjects::new(&*site, PREFIX, &heartbeat);
    let (best, is_complete) = objects.best_known(2).await.unwrap();
    let found: Vec<_> = best.iter().map(|best| (best.tabs(), best.names())).collect();
    let expected = vec!["long-but-known.example".to_owned(), "a.example".to_owned()];
    assert_eq!(found, [(2, expected), (0, Vec::new())]);
    assert!(!is_complete);
}
