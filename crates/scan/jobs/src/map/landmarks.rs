//! Writes the map's landmarks when a scan is published, from the published search files and
//! bundles. A scan without host ranks has no landmarks, because its data do not say which hosts
//! visitors know.

use everytab_bundler::{
    Manifest, PublishedBundle,
    map::landmarks::{Landmark, LandmarkLines, candidates},
    object_names::{MAP_LANDMARKS_PATH, search_range_prefix},
    search::{RANGES, SearchEntry, answers::TOP_FILE, read_lines},
};
use everytab_fetcher::Heartbeat;
use everytab_job_result::JobError;
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{
    removal::ScanObjects,
    site_objects::{CONCURRENT_OBJECTS, put_changed},
};

/// Returns true if the scan has landmarks.
pub(crate) async fn publish_landmarks(
    site: &dyn Store,
    manifest: &Manifest,
    heartbeat: &Heartbeat,
) -> Result<bool, JobError> {
    let hosts = candidates(best_hosts(site, &manifest.prefix).await?);
    let reads: Vec<_> = hosts.into_iter().map(|host| landmark(site, manifest, host)).collect();
    let mut landmarks = stream::iter(reads).buffered(CONCURRENT_OBJECTS);
    let mut lines = LandmarkLines::default();
    while let Some(landmark) = landmarks.try_next().await? {
        heartbeat.beat();
        if landmark.is_some_and(|landmark| !lines.push(&landmark)) {
            break;
        }
    }
    let has_landmarks = lines.count() > 0;
    let key = format!("{}{MAP_LANDMARKS_PATH}", manifest.prefix);
    put_changed(site, &key, lines.into_text().into()).await?;
    // A concurrent takedown may have looked for the file before it was written.
    ScanObjects::new(site, &manifest.prefix, heartbeat).remove_noted_landmarks().await?;
    Ok(has_landmarks)
}

async fn best_hosts(site: &dyn Store, prefix: &str) -> Result<Vec<SearchEntry>, JobError> {
    let keys = (0..RANGES).map(|range| format!("{prefix}{}{TOP_FILE}", search_range_prefix(range)));
    let reads: Vec<_> = keys
        .map(|key| async move {
            let Some(file) = site.get_tagged(&key).await? else { return Ok(Vec::new()) };
            read_lines(&file.bytes)
                .map_err(|error| JobError::Discard(format!("{key} is not a search file: {error}")))
        })
        .collect();
    stream::iter(reads).buffered(CONCURRENT_OBJECTS).try_concat().await
}

async fn landmark(
    site: &dyn Store,
    manifest: &Manifest,
    host: SearchEntry,
) -> Result<Option<Landmark>, JobError> {
    let Some(file) = site.get_tagged(&manifest.bundle_name(host.bundle)).await? else {
        return Ok(None);
    };
    // A damaged bundle must not prevent publishing.
    let bundle = PublishedBundle::read(&file.bytes).ok();
    let icon = bundle.and_then(|bundle| bundle.icon_of(&host.hostname));
    Ok(icon.and_then(|(slot, icon)| {
        let slot = i32::try_from(slot).ok()?;
        Landmark::new(SearchEntry { slot, ..host }, &icon)
    }))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use everytab_bundler::{
        bundle::{self, BundleIcon, Tab},
        object_names::{self, scan_prefix, search_part},
        removed_hosts::RemovedHosts,
        search::{part::write_part, range_of, ranks::HostRanks},
    };
    use everytab_icon::{Pixels, png};
    use everytab_storage::{PutOptions, StoreSettings};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::search::merge_range;

    const HOSTS: [[&str; 3]; 2] = [
        ["www.best.example", "plain.example", "second.example"],
        ["unranked.example", "best.example.org", "zebra.example"],
    ];
    const RANKED: [&str; 4] = ["best.example", "plain.example", "zebra.example", "second.example"];

    fn png_of(hostname: &str) -> Vec<u8> {
        let shade = hostname.len() as u8;
        png::encode(&Pixels::new(1, 1, vec![shade, 0, 0, 255]).unwrap())
    }

    async fn site(folder: &std::path::Path) -> (Arc<dyn Store>, Manifest) {
        let url = format!("file://{}", folder.display());
        let store = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        let scan = Uuid::nil();
        let mut entries = Vec::new();
        for (number, hosts) in (0..).zip(HOSTS) {
            let tab = |hostname: &str| {
                let png = png_of(hostname);
                let icon = (hostname != "plain.example").then_some(png);
                let icon = icon.map(|png| BundleIcon { png, width: 1, height: 1 });
                let url = format!("https://{hostname}");
                Tab { url, title: "A".to_owned(), icon, iframe_ok: true }
            };
            let bytes = bundle::write(&hosts.map(tab)).into();
            let key = object_names::bundle(scan, number);
            store.put(&key, bytes, PutOptions::default()).await.unwrap();
            let entry =
                |(slot, hostname): (i32, &str)| SearchEntry::new(hostname.to_owned(), number, slot);
            entries.extend((0..).zip(hosts).map(entry));
        }
        let ranges: Vec<usize> = entries.iter().map(|entry| range_of(&entry.hostname)).collect();
        let part = write_part(entries).into();
        store.put(&search_part(scan, 0), part, PutOptions::default()).await.unwrap();
        let ranks =
            HostRanks::read(HostRanks::write(&RANKED.map(str::to_owned)).as_bytes(), |_| true);
        for range in (0..RANGES).filter(|range| ranges.contains(range)) {
            let archive = Arc::clone(&store);
            let heartbeat = Heartbeat::default();
            let merged = merge_range(archive, &*store, scan, vec![0], range, &ranks, &heartbeat);
            merged.await.unwrap();
        }
        let manifest = json!({
            "scan": scan, "crawl": "CC-MAIN-2099-01", "bundles": 2, "prefix": scan_prefix(scan),
            "generated_at": "x", "hosts": 6, "with_icon": 5,
        });
        (store, Manifest::read(manifest.to_string().as_bytes()).unwrap())
    }

    async fn landmarks(site: &dyn Store) -> Vec<(String, String)> {
        let key = scan_prefix(Uuid::nil()) + MAP_LANDMARKS_PATH;
        let text = String::from_utf8(site.get(&key).await.unwrap().to_vec()).unwrap();
        let host = |line: &str| {
            let fields: Vec<&str> = line.split('\t').collect();
            (fields[0].to_owned(), fields[1..4].join(" "))
        };
        text.lines().map(host).collect()
    }

    fn expected(landmarks: &[(&str, &str)]) -> Vec<(String, String)> {
        landmarks.iter().map(|(host, place)| ((*host).to_owned(), (*place).to_owned())).collect()
    }

    #[tokio::test]
    async fn the_best_hosts_with_an_icon_are_landmarks_in_order_of_rank() {
        let folder = tempfile::TempDir::new().unwrap();
        let (site, manifest) = site(folder.path()).await;
        assert!(publish_landmarks(&*site, &manifest, &Heartbeat::default()).await.unwrap());
        let all = [
            ("www.best.example", "0 0 1"),
            ("zebra.example", "1 2 3"),
            ("second.example", "0 2 4"),
        ];
        assert_eq!(landmarks(&*site).await, expected(&all));
        let key = object_names::bundle(Uuid::nil(), 1);
        site.put(&key, "{}".into(), PutOptions::default()).await.unwrap();
        publish_landmarks(&*site, &manifest, &Heartbeat::default()).await.unwrap();
        assert_eq!(landmarks(&*site).await, expected(&[all[0], all[2]]));
        let overrides = BTreeMap::from([("0".to_owned(), "tabs/missing.json".to_owned())]);
        let manifest = Manifest { overrides, ..manifest };
        assert!(!publish_landmarks(&*site, &manifest, &Heartbeat::default()).await.unwrap());
        assert_eq!(landmarks(&*site).await, []);
    }

    #[tokio::test]
    async fn a_removal_before_or_after_publishing_removes_a_landmark_and_moves_another() {
        for is_published_first in [true, false] {
            let folder = tempfile::TempDir::new().unwrap();
            let (site, manifest) = site(folder.path()).await;
            let heartbeat = Heartbeat::default();
            if is_published_first {
                publish_landmarks(&*site, &manifest, &heartbeat).await.unwrap();
            }
            let objects = ScanObjects::new(&*site, &manifest.prefix, &heartbeat);
            let excluded = RemovedHosts::from_iter(["www.best.example"]);
            let found = objects.find(&excluded).await.unwrap();
            let rewritten = objects.rewrite(&found, [], |n| manifest.bundle_name(n)).await.unwrap();
            objects.overwrite_old(&rewritten).await.unwrap();
            objects.correct_search(&found, &rewritten).await.unwrap();
            if !is_published_first {
                publish_landmarks(&*site, &manifest, &heartbeat).await.unwrap();
            }
            // The last tab of the first bundle took the removed one's slot.
            let left = [("zebra.example", "1 2 3"), ("second.example", "0 0 4")];
            assert_eq!(landmarks(&*site).await, expected(&left), "{is_published_first}");
        }
    }

    #[tokio::test]
    async fn a_host_that_is_noted_while_landmarks_are_written_is_removed() {
        let folder = tempfile::TempDir::new().unwrap();
        let (site, manifest) = site(folder.path()).await;
        // A removal wrote its note but found no landmarks.
        let digest = everytab_bundler::icon_list::hostname_prefix("zebra.example");
        let note = manifest.prefix.clone() + &object_names::search_removed_path(digest);
        site.put(&note, "".into(), PutOptions::default()).await.unwrap();
        publish_landmarks(&*site, &manifest, &Heartbeat::default()).await.unwrap();
        let left = [("www.best.example", "0 0 1"), ("second.example", "0 2 4")];
        assert_eq!(landmarks(&*site).await, expected(&left));
    }
}
