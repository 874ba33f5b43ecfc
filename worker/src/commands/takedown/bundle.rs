//! A published bundle as a takedown changes it: read, one tab less, written as the bundler writes.
//!
//! Invariant: the tabs that stay keep their bytes' meaning, and all but one keep their place.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

/// The JSON of a bundle, as `bundler/bundle.schema.json` has it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Bundle {
    entries: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    url: String,
    title: String,
    icon: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    icon_w: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    icon_h: Option<u32>,
    iframe_ok: bool,
}

impl Entry {
    fn hostname(&self) -> Option<String> {
        Url::parse(&self.url).ok()?.host_str().map(str::to_owned)
    }

    fn is_of(&self, hostname: &str) -> bool {
        // Hostnames of the crawl are in the address as they are, and need not survive parsing.
        let address = self.url.split_once("://").map_or("", |(_, rest)| rest);
        address.split('/').next() == Some(hostname) || self.hostname().as_deref() == Some(hostname)
    }
}

impl Bundle {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("it is no bundle: {error}"))
    }

    /// Removes the tab of a host; the last tab takes its place. Answers the place, and whether the
    /// tab had an icon. `None`: there is no such tab.
    pub(super) fn remove(&mut self, hostname: &str) -> Option<(usize, bool)> {
        let place = self.entries.iter().position(|entry| entry.is_of(hostname))?;
        let removed = self.entries.swap_remove(place);
        Some((place, !removed.icon.is_empty()))
    }

    /// Whose tab is at a place.
    pub(super) fn hostname_at(&self, place: usize) -> Option<String> {
        let url = &self.entries.get(place)?.url;
        let address = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        address.split('/').next().map(str::to_owned)
    }

    /// Bytes by the bundler's rules: fixed order, no space, nothing that could end a script.
    pub(super) fn bytes(&self) -> Bytes {
        // Strings, numbers and flags cannot fail to serialise.
        let json = serde_json::to_string(self).unwrap_or_default();
        let json = json.replace('<', "\\u003c");
        json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").into()
    }

    /// The name, below the scan's prefix, that bundle `number` gets with these contents.
    pub(super) fn path(&self, number: i32) -> String {
        let digest = Sha256::digest(self.bytes());
        let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("tabs/{number}-{hash}.json")
    }
}
