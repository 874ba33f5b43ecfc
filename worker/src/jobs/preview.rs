//! The picture that a shared link shows, of tabs of the first bundles.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use everytab_bundler::preview::{PreviewTab, TABS, draw};
use everytab_storage::{Store, objects};
use serde::Deserialize;

use super::{job::JobError, publish::Manifest};
use crate::pulse::Pulse;

/// Bundles looked at, at most: a scan may have few icons.
const BUNDLES: u64 = 32;

#[derive(Deserialize)]
struct Bundle {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    title: String,
    icon: String,
}

/// Draws it from the published bundles. None: no tab has an icon.
pub(super) async fn of_site(
    site: &dyn Store,
    manifest: &Manifest,
    pulse: &Pulse,
) -> Result<Option<Bytes>, JobError> {
    let mut tabs = Vec::with_capacity(TABS);
    for number in 0..manifest.bundles.min(BUNDLES) {
        let key = objects::tabs(manifest.scan, i64::try_from(number).unwrap_or(i64::MAX));
        let bundle: Bundle = serde_json::from_slice(&site.get(&key).await?)
            .map_err(|error| JobError::Discard(format!("{key} is not a bundle: {error}")))?;
        pulse.beat();
        tabs.extend(bundle.entries.iter().filter(|entry| !entry.icon.is_empty()).filter_map(
            |entry| {
                let icon = STANDARD.decode(&entry.icon).ok()?;
                Some(PreviewTab { icon, title_chars: entry.title.chars().count() })
            },
        ));
        if tabs.len() >= TABS {
            break;
        }
    }
    tabs.truncate(TABS);
    let drawn = tokio::task::spawn_blocking(move || draw(&tabs)).await;
    // A picture is not worth a scan: without it links show none.
    Ok(drawn.ok().flatten().map(Bytes::from))
}
