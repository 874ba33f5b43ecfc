//! The manifest: the small JSON file that the page reads first, and that names the live scan.
//!
//! Publishing writes all of it, a takedown changes some of its fields. A takedown keeps unknown
//! fields (`extra`), so that an older program does not drop the fields of a newer one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{map::MapManifest, object_names};

/// The fields of `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The scan's id. Ids are ordered by the scans' start time.
    pub scan: Uuid,
    /// The name of the crawl, such as `CC-MAIN-2026-21`.
    pub crawl: String,
    /// Number of bundles; they are numbered from 0.
    pub bundles: u64,
    /// Prefix of the scan's objects below the site's root. It ends with a slash.
    pub prefix: String,
    /// When the scan was published, in UTC, in RFC 3339 format.
    pub generated_at: String,
    /// Number of tabs.
    pub hosts: u64,
    /// Number of tabs with an icon.
    pub with_icon: u64,
    /// Contact for visitors: an address with `mailto:` or `https:`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Bundles that a takedown rewrote: the bundle's number to its path below the prefix.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, String>,
    /// The map of all icons. `None` if the scan has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapManifest>,
    /// The kinds of search files in addition to the sorted names. Absent for scans without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchKinds>,
    /// Fields that this version of the program does not know. They are kept unchanged.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The kinds of search files that a scan has in addition to the sorted names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchKinds {
    /// The best results for prefixes that span many files.
    pub best: bool,
    /// The words of ranked hosts.
    pub words: bool,
}

/// The reason why bytes are not a usable manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The bytes are not JSON, or a field is missing or of another type.
    #[error("manifest.json is not understood: {0}")]
    NotUnderstood(#[from] serde_json::Error),
    /// Without the slash, names below the prefix would belong to another prefix.
    #[error("manifest.json has no prefix that ends with a slash: is it a site of ours?")]
    PrefixWithoutSlash,
}

/// The reason why a manifest must not replace the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceRefusal {
    /// The published scan with this id was started later.
    LaterScan(Uuid),
    /// The new scan has no tabs, and the published one has some.
    WouldEmptySite {
        /// Number of published tabs.
        tabs: u64,
    },
    /// The new scan has fewer than four fifths of the published tabs.
    WouldShrink {
        /// Number of published tabs.
        tabs: u64,
    },
}

/// The share of the published tabs that a new scan may lack: 1 in this number. The web's names
/// change by a few percent a month. A site that loses a fifth was made by a rehearsal with a limit,
/// or by a scan most of which failed.
const MAX_LOSS: u64 = 5;

impl Manifest {
    /// Parses a manifest.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid manifest.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        let manifest: Self = serde_json::from_slice(bytes)?;
        match manifest.prefix.ends_with('/') {
            true => Ok(manifest),
            false => Err(ManifestError::PrefixWithoutSlash),
        }
    }

    /// Serializes the manifest.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Strings, numbers and JSON values always serialize.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns the name of a bundle's object. A takedown's override takes precedence. `bundlePath`
    /// in `site/js/bundles.js` has the same rule.
    #[must_use]
    pub fn bundle_name(&self, number: i32) -> String {
        let overridden = self.overrides.get(&number.to_string()).cloned();
        self.prefix.clone() + &overridden.unwrap_or_else(|| object_names::bundle_path(number))
    }

    /// Checks that this manifest may replace the published one without the operator's `--force`.
    ///
    /// # Errors
    /// Returns an error if the published scan is a later one, or if the site would have no tabs, or
    /// would lose more than a fifth of them.
    pub fn may_replace(&self, published: &Self) -> Result<(), ReplaceRefusal> {
        if published.scan > self.scan {
            return Err(ReplaceRefusal::LaterScan(published.scan));
        }
        if self.hosts == 0 && published.hosts > 0 {
            return Err(ReplaceRefusal::WouldEmptySite { tabs: published.hosts });
        }
        let lost = published.hosts.saturating_sub(self.hosts);
        if lost > published.hosts / MAX_LOSS {
            return Err(ReplaceRefusal::WouldShrink { tabs: published.hosts });
        }
        Ok(())
    }

    /// Returns the numbers of the bundles that a takedown rewrote, if `published` is a manifest of
    /// the same scan, because caches may keep their original names for a year.
    #[must_use]
    pub fn rewritten_before(&self, published: &Self) -> Vec<i32> {
        if published.scan != self.scan {
            return Vec::new();
        }
        published.overrides.keys().filter_map(|number| number.parse().ok()).collect()
    }

    /// Points a bundle at `path`, below the prefix, and subtracts the removed tabs, and those of
    /// them with an icon, from the totals.
    pub fn without_tabs(&mut self, number: i32, path: &str, tabs: u64, with_icon: u64) {
        self.set_override(number, path);
        self.hosts = self.hosts.saturating_sub(tabs);
        self.with_icon = self.with_icon.saturating_sub(with_icon);
    }

    /// Points a bundle at `path`, below the prefix.
    pub fn set_override(&mut self, number: i32, path: &str) {
        self.overrides.insert(number.to_string(), path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = concat!(
        r#"{"scan":"01900000-0000-7000-8000-000000000001","crawl":"CC-MAIN-2099-01","bundles":3,"#,
        r#""prefix":"scans/01900000-0000-7000-8000-000000000001/","generated_at":"x","hosts":7,"#,
        r#""with_icon":2,"contact":"mailto:a@b.example","overrides":{"1":"tabs/1-ab.json"},"#,
        r#""later":[1]}"#,
    );

    #[test]
    fn a_manifest_keeps_its_bytes_and_fields_of_later_versions() {
        let manifest = Manifest::read(JSON.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(manifest.to_bytes()).unwrap(), JSON);
        let plain =
            Manifest { contact: None, overrides: BTreeMap::new(), extra: Map::new(), ..manifest };
        let end = r#""hosts":7,"with_icon":2}"#;
        assert!(String::from_utf8(plain.to_bytes()).unwrap().ends_with(end));
    }

    #[test]
    fn an_override_wins_over_the_name_by_number() {
        let mut manifest = Manifest::read(JSON.as_bytes()).unwrap();
        let prefix = manifest.prefix.clone();
        assert_eq!(manifest.bundle_name(0), format!("{prefix}tabs/0.json"));
        assert_eq!(manifest.bundle_name(1), format!("{prefix}tabs/1-ab.json"));
        manifest.set_override(0, "tabs/0-cd.json");
        assert_eq!(manifest.bundle_name(0), format!("{prefix}tabs/0-cd.json"));
    }

    #[test]
    fn an_older_or_empty_scan_replaces_nothing_and_overrides_stay_with_their_scan() {
        let published = Manifest::read(JSON.as_bytes()).unwrap();
        let same = Manifest { overrides: BTreeMap::new(), ..published.clone() };
        assert_eq!(same.may_replace(&published), Ok(()));
        assert_eq!(same.rewritten_before(&published), [1]);
        let older = Manifest { scan: Uuid::nil(), ..same.clone() };
        assert_eq!(older.may_replace(&published), Err(ReplaceRefusal::LaterScan(published.scan)));
        assert!(older.rewritten_before(&published).is_empty());
        let empty = Manifest { hosts: 0, ..same };
        let refusal = ReplaceRefusal::WouldEmptySite { tabs: 7 };
        assert_eq!(empty.may_replace(&published), Err(refusal));
    }

    #[test]
    fn a_site_may_lose_a_fifth_of_its_tabs_and_no_more() {
        let published = Manifest { hosts: 104, ..Manifest::read(JSON.as_bytes()).unwrap() };
        let with = |hosts| Manifest { hosts, ..published.clone() };
        assert_eq!(with(84).may_replace(&published), Ok(()));
        let refusal = ReplaceRefusal::WouldShrink { tabs: 104 };
        assert_eq!(with(83).may_replace(&published), Err(refusal));
        assert_eq!(with(105).may_replace(&published), Ok(()));
    }

    #[test]
    fn bytes_that_are_no_manifest_of_ours_are_refused() {
        let without_slash = JSON.replace("000001/\"", "000001\"");
        assert!(matches!(
            Manifest::read(without_slash.as_bytes()),
            Err(ManifestError::PrefixWithoutSlash)
        ));
        assert!(matches!(Manifest::read(b"[]"), Err(ManifestError::NotUnderstood(_))));
    }
}
