//! The manifest: a small JSON file that the page reads first. It identifies the live scan.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{map::MapManifest, object_names};

/// Content of `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The scan's id. Sorting by id sorts scans by start time.
    pub scan: Uuid,
    /// The crawl's name, such as `CC-MAIN-2026-21`.
    pub crawl: String,
    /// Bundles in this scan. They are numbered from 0.
    pub bundles: u64,
    /// Prefix for this scan's objects, with a trailing slash.
    pub prefix: String,
    /// When the scan was published, in RFC 3339 format.
    pub generated_at: String,
    /// Tabs in this scan.
    pub hosts: u64,
    /// Tabs with an icon.
    pub with_icon: u64,
    /// Home pages with a title. `None` if an older version published this scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titles: Option<u64>,
    /// Home pages that have a title and may be framed. `None` as for `titles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framed: Option<u64>,
    /// This scan's setting for tabs per bundle. `None` as for `titles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries_per_bundle: Option<u32>,
    /// Contact for visitors, as a `mailto:` or `https:` URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Maps each bundle that a takedown rewrote to its path below the prefix.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, String>,
    /// `None` if the scan has no map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapManifest>,
    /// `None` if there are only the sorted names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchKinds>,
    /// Fields that this program version does not know. They are preserved.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Kinds of search files that a scan has in addition to the sorted names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchKinds {
    /// Whether there are files with the best results for a prefix.
    pub best: bool,
    /// Whether there are files with the words of ranked hosts.
    pub words: bool,
}

/// Error returned by [`Manifest::read`].
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The bytes are not JSON, or a field is missing or has another type.
    #[error("manifest.json cannot be parsed: {0}")]
    NotUnderstood(#[from] serde_json::Error),
    /// The prefix does not end with a slash, so names below it would belong to another prefix.
    #[error("manifest.json has a prefix without a trailing slash; is this an EveryTab site?")]
    PrefixWithoutSlash,
}

/// Error returned by [`Manifest::may_replace`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceRefusal {
    /// The published scan with this id was started later.
    LaterScan(Uuid),
    /// These counts would decrease too much.
    WouldLose(Vec<Loss>),
}

/// A count that is lower in a new manifest than in the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The count's name, such as `tabs`.
    pub what: &'static str,
    /// The count in the published manifest.
    pub published: u64,
    /// The count in the new manifest.
    pub left: u64,
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, published, left } = self;
        write!(formatter, "{left} {what} instead of {published}")
    }
}

/// Default maximum percentage by which each count may decrease with a new scan. The web changes by
/// a few percent per month. A larger loss means that the scan was a rehearsal with a limit, or that
/// much of it failed.
pub const MAX_LOSS_PERCENT: u8 = 20;

struct ComparedCount {
    what: &'static str,
    /// A decrease by up to this number is always allowed, because the count is rounded.
    rounding: u64,
    /// Returns the first manifest's count. `None` if there is no such count, or if it has another
    /// meaning in the second manifest.
    of: fn(&Manifest, &Manifest) -> Option<u64>,
}

const COMPARED_COUNTS: [ComparedCount; 5] = [
    ComparedCount { what: "tabs", rounding: 0, of: |manifest, _| Some(manifest.hosts) },
    ComparedCount {
        what: "tabs with an icon",
        rounding: 0,
        of: |manifest, _| Some(manifest.with_icon),
    },
    ComparedCount { what: "pages with a title", rounding: 0, of: |manifest, _| manifest.titles },
    ComparedCount {
        what: "pages that may be framed",
        rounding: 0,
        of: |manifest, _| manifest.framed,
    },
    ComparedCount {
        what: "bundles",
        rounding: 1,
        of: |manifest, other| {
            let is_packed_alike = manifest.entries_per_bundle? == other.entries_per_bundle?;
            is_packed_alike.then_some(manifest.bundles)
        },
    },
];

impl Manifest {
    /// Parses a manifest.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid manifest.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        let manifest: Self = serde_json::from_slice(bytes)?;
        if manifest.prefix.ends_with('/') {
            Ok(manifest)
        } else {
            Err(ManifestError::PrefixWithoutSlash)
        }
    }

    /// Serializes this manifest.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Strings, numbers and JSON values can always be serialized.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns a bundle's object name. A takedown's override takes precedence.
    #[must_use]
    pub fn bundle_name(&self, number: i32) -> String {
        let overridden = self.overrides.get(&number.to_string()).cloned();
        self.prefix.clone() + &overridden.unwrap_or_else(|| object_names::bundle_path(number))
    }

    /// Checks that this manifest may replace the published one without the operator's `--force`.
    ///
    /// # Errors
    /// Returns an error if the published scan is a later one, or if a count would decrease by more
    /// than `max_loss` percent.
    pub fn may_replace(&self, published: &Self, max_loss: u8) -> Result<(), ReplaceRefusal> {
        if published.scan > self.scan {
            return Err(ReplaceRefusal::LaterScan(published.scan));
        }
        let losses: Vec<Loss> = COMPARED_COUNTS
            .iter()
            .filter_map(|count| {
                let (before, left) = ((count.of)(published, self)?, (count.of)(self, published)?);
                let lost = before.saturating_sub(left);
                let is_too_much = lost > count.rounding
                    && u128::from(lost) * 100 > u128::from(before) * u128::from(max_loss);
                is_too_much.then_some(Loss { what: count.what, published: before, left })
            })
            .collect();
        if losses.is_empty() { Ok(()) } else { Err(ReplaceRefusal::WouldLose(losses)) }
    }

    /// Returns the numbers of the bundles that a takedown rewrote, if `published` belongs to this
    /// scan.
    #[must_use]
    pub fn rewritten_before(&self, published: &Self) -> Vec<i32> {
        if published.scan != self.scan {
            return Vec::new();
        }
        published.overrides.keys().filter_map(|number| number.parse().ok()).collect()
    }

    /// Sets a bundle's override to `path`, below the prefix, and subtracts the removed tabs from
    /// the totals.
    pub fn without_tabs(&mut self, number: i32, path: &str, tabs: u64, with_icon: u64) {
        self.set_override(number, path);
        self.hosts = self.hosts.saturating_sub(tabs);
        self.with_icon = self.with_icon.saturating_sub(with_icon);
    }

    /// Sets a bundle's override to `path`, below the prefix.
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
        assert_eq!(same.may_replace(&published, MAX_LOSS_PERCENT), Ok(()));
        assert_eq!(same.rewritten_before(&published), [1]);
        let older = Manifest { scan: Uuid::nil(), ..same.clone() };
        let refusal = ReplaceRefusal::LaterScan(published.scan);
        assert_eq!(older.may_replace(&published, MAX_LOSS_PERCENT), Err(refusal));
        assert!(older.rewritten_before(&published).is_empty());
        let empty = Manifest { hosts: 0, ..same };
        let loss = Loss { what: "tabs", published: 7, left: 0 };
        let refusal = ReplaceRefusal::WouldLose(vec![loss]);
        assert_eq!(empty.may_replace(&published, 99), Err(refusal));
        assert_eq!(loss.to_string(), "0 tabs instead of 7");
    }

    fn of_count(count: u64) -> Manifest {
        Manifest {
            hosts: count,
            with_icon: count,
            titles: Some(count),
            framed: Some(count),
            entries_per_bundle: Some(120),
            bundles: count,
            ..Manifest::read(JSON.as_bytes()).unwrap()
        }
    }

    #[test]
    fn a_site_may_lose_a_fifth_of_each_count_and_not_more() {
        let published = of_count(104);
        assert_eq!(of_count(84).may_replace(&published, 20), Ok(()));
        assert_eq!(of_count(105).may_replace(&published, 20), Ok(()));
        assert_eq!(of_count(83).may_replace(&published, 21), Ok(()));
        let losses = |refused| match refused {
            Err(ReplaceRefusal::WouldLose(losses)) => losses,
            other => panic!("{other:?}"),
        };
        let all = losses(of_count(83).may_replace(&published, 20));
        let names: Vec<&str> = all.iter().map(|loss| loss.what).collect();
        assert_eq!(names, COMPARED_COUNTS.map(|count| count.what));
        let loss = |what| vec![Loss { what, published: 104, left: 83 }];
        let tabs = Manifest { hosts: 83, ..published.clone() };
        let icons = Manifest { with_icon: 83, ..published.clone() };
        let titles = Manifest { titles: Some(83), ..published.clone() };
        let framed = Manifest { framed: Some(83), ..published.clone() };
        let bundles = Manifest { bundles: 83, ..published.clone() };
        for (fallen, name) in [tabs, icons, titles, framed, bundles].iter().zip(names) {
            assert_eq!(losses(fallen.may_replace(&published, 20)), loss(name));
        }
    }

    #[test]
    fn counts_that_mean_something_else_or_are_rounded_are_no_loss() {
        let published = of_count(104);
        let other_bundles =
            Manifest { bundles: 52, entries_per_bundle: Some(240), ..published.clone() };
        assert_eq!(other_bundles.may_replace(&published, 20), Ok(()));
        let older =
            Manifest { titles: None, framed: None, entries_per_bundle: None, ..of_count(1) };
        let few = Manifest { hosts: 104, with_icon: 104, ..older };
        assert_eq!(few.may_replace(&published, 20), Ok(()));
        assert_eq!(published.may_replace(&few, 20), Ok(()));
        let two = Manifest { bundles: 2, ..published.clone() };
        let one = Manifest { bundles: 1, ..published };
        assert_eq!(one.may_replace(&two, 20), Ok(()));
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
