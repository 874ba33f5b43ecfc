//! The name of every object that EveryTab writes, and the headers a name calls for.
//!
//! Invariants: what is not a pure function of a scan's inputs carries the lease number; names
//! that never change their content are cached for a year, the others for a minute.

use uuid::Uuid;

use crate::PutOptions;

/// The page.
pub const INDEX_HTML: &str = "index.html";
/// The small object that says which scan is live; the only one that is ever switched.
pub const MANIFEST: &str = "manifest.json";
/// Counts and durations of the live scan.
pub const STATS: &str = "stats.json";

/// Numbers of this and earlier scans, for the page of numbers.
pub const HISTORY: &str = "history.json";
/// The picture that a shared link shows.
pub const PREVIEW: &str = "preview.png";

/// For objects whose name changes with their content.
pub const CACHE_IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// For objects that a new scan replaces under the same name.
pub const CACHE_SHORT: &str = "public, max-age=60, must-revalidate";

/// Everything of a scan that the site reads: `scans/<scan id>/`.
pub fn scan_prefix(scan_id: Uuid) -> String {
    format!("scans/{scan_id}/")
}

/// One bundle: `scans/<scan id>/tabs/<n>.json`, `n` from 0, unpadded.
pub fn tabs(scan_id: Uuid, bundle: impl Into<i64>) -> String {
    format!("scans/{scan_id}/tabs/{}.json", bundle.into())
}

/// All bundles of a scan.
pub fn tabs_prefix(scan_id: Uuid) -> String {
    format!("scans/{scan_id}/tabs/")
}

/// A file of a scan's search index: `scans/<scan id>/search/<name>`.
pub fn search(scan_id: Uuid, name: &str) -> String {
    format!("scans/{scan_id}/search/{name}")
}

/// All search files of a scan.
pub fn search_prefix(scan_id: Uuid) -> String {
    format!("scans/{scan_id}/search/")
}

/// The icons of one shard as one lease fetched them:
/// `archive/<scan id>/<shard>-<lease number>.warc.gz`.
pub fn archive(scan_id: Uuid, shard: impl Into<i64>, lease_number: impl Into<i64>) -> String {
    format!("archive/{scan_id}/{}-{}.warc.gz", shard.into(), lease_number.into())
}

/// Everything of a scan that the site does not read: `archive/<scan id>/`.
pub fn archive_prefix(scan_id: Uuid) -> String {
    format!("archive/{scan_id}/")
}

/// A shard's sorted (hostname, bundle, slot) rows, which the search jobs merge:
/// `archive/<scan id>/search/<shard>.tsv`.
pub fn search_part(scan_id: Uuid, shard: impl Into<i64>) -> String {
    format!("archive/{scan_id}/search/{}.tsv", shard.into())
}

/// The `Content-Type` that a name calls for.
pub fn content_type(key: &str) -> &'static str {
    let file_name = key.rsplit('/').next().unwrap_or(key);
    match file_name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "tsv" => "text/tab-separated-values; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "webmanifest" => "application/manifest+json",
        "gz" => "application/gzip",
        _ => "application/octet-stream",
    }
}

/// The `Cache-Control` that a name calls for: short for what stands at the root under a fixed
/// name, a year for a scan's own objects and for names with a content hash (`app-0123abcd.js`).
pub fn cache_control(key: &str) -> &'static str {
    let own_prefix = key.starts_with("scans/") || key.starts_with("archive/");
    if own_prefix || has_content_hash(key) { CACHE_IMMUTABLE } else { CACHE_SHORT }
}

/// The headers to store with an object of this name.
pub fn put_options(key: &str) -> PutOptions {
    PutOptions {
        content_type: Some(content_type(key)),
        cache_control: Some(cache_control(key)),
        content_encoding: None,
    }
}

/// `<stem>-<at least 8 hex digits>.<extension>`, or the same with a dot.
fn has_content_hash(key: &str) -> bool {
    let file_name = key.rsplit('/').next().unwrap_or(key);
    let Some((stem, _)) = file_name.rsplit_once('.') else { return false };
    let Some((_, hash)) = stem.rsplit_once(['-', '.']) else { return false };
    hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCAN: Uuid = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001);
    const ID: &str = "01900000-0000-7000-8000-000000000001";

    #[test]
    fn names_follow_the_published_layout() {
        assert_eq!(tabs(SCAN, 7), format!("scans/{ID}/tabs/7.json"));
        assert_eq!(tabs(SCAN, 249_999_i64), format!("scans/{ID}/tabs/249999.json"));
        assert_eq!(search(SCAN, "0.txt"), format!("scans/{ID}/search/0.txt"));
        assert_eq!(archive(SCAN, 12, 3), format!("archive/{ID}/12-3.warc.gz"));
        assert_eq!(search_part(SCAN, 12), format!("archive/{ID}/search/12.tsv"));
        assert_eq!([INDEX_HTML, MANIFEST, STATS], ["index.html", "manifest.json", "stats.json"]);
    }

    #[test]
    fn prefixes_cover_their_own_objects_and_no_other_scan() {
        let other = Uuid::from_u128(SCAN.as_u128() + 1);
        assert!(tabs(SCAN, 0).starts_with(&tabs_prefix(SCAN)));
        assert!(tabs_prefix(SCAN).starts_with(&scan_prefix(SCAN)));
        assert!(search(SCAN, "a").starts_with(&search_prefix(SCAN)));
        assert!(search_prefix(SCAN).starts_with(&scan_prefix(SCAN)));
        assert!(archive(SCAN, 0, 1).starts_with(&archive_prefix(SCAN)));
        assert!(search_part(SCAN, 0).starts_with(&archive_prefix(SCAN)));
        assert!(!tabs(other, 0).starts_with(&scan_prefix(SCAN)));
    }

    #[test]
    fn every_name_is_an_allowed_key() {
        for key in [
            tabs(SCAN, 0),
            search(SCAN, "a.json"),
            archive(SCAN, 0, 1),
            search_part(SCAN, 0),
            MANIFEST.to_owned(),
        ] {
            assert!(crate::key::check_key("s3://x", &key).is_ok(), "{key}");
        }
    }

    #[test]
    fn only_names_that_never_change_content_are_cached_for_long() {
        for key in [INDEX_HTML, MANIFEST, STATS, "favicon.ico", "js/layout.js", "x-12ab.js"] {
            assert_eq!(cache_control(key), CACHE_SHORT, "{key}");
        }
        let bundle = tabs(SCAN, 0);
        for key in [bundle.as_str(), "js/app-0123abcd.js", "page.0123456789abcdef.css"] {
            assert_eq!(cache_control(key), CACHE_IMMUTABLE, "{key}");
        }
    }

    #[test]
    fn the_extension_decides_the_content_type() {
        assert_eq!(content_type("index.html"), "text/html; charset=utf-8");
        assert_eq!(content_type("a.b/tabs/0.json"), "application/json");
        assert_eq!(content_type("a.html/noext"), "application/octet-stream");
        assert_eq!(content_type("archive/x/0-1.warc.gz"), "application/gzip");
    }
}
