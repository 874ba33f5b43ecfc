//! The names of a scan's and its site's objects, and the HTTP headers for each name.
//!
//! An icon archive has the lease number in its name, because its content is not a pure function of
//! the scan's inputs. A path is relative to the scan's prefix, and a name to the store's root.

mod map_orders;

use sha2::{Digest, Sha256};
use uuid::Uuid;

pub use self::map_orders::{
    MAP_PATH, MAP_TILE_EXTENSION, map_order_folder, map_order_index_path, map_places_path,
    names_of_rewritten_tile, rewritten_map_order_index_path, rewritten_tile_path_in, tile_path_in,
};
use crate::icon_list::DigestPrefix;

/// The page that visitors open.
pub const INDEX_HTML: &str = "index.html";
/// The small object that identifies the live scan.
pub const MANIFEST: &str = "manifest.json";
/// The live scan's counts and durations.
pub const STATS: &str = "stats.json";
/// A few numbers per scan, for the statistics page.
pub const HISTORY: &str = "history.json";
/// The picture shown for shared links to the site.
pub const PREVIEW: &str = "preview.png";
/// The public keys of the site's robot (draft-ietf-webbotauth-httpsig-protocol).
pub const KEY_DIRECTORY: &str = ".well-known/http-message-signatures-directory";
/// Contact for reports about vulnerabilities (RFC 9116).
pub const SECURITY_TXT: &str = ".well-known/security.txt";
/// The operators' takedowns, below the private prefix that `scan start --private` reads.
pub const BLOCKLIST: &str = "blocklist.txt";

/// `Cache-Control` for an object whose content does not change under its name.
pub const CACHE_IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// `Cache-Control` for an object that may change under its name.
pub const CACHE_SHORT: &str = "public, max-age=60, must-revalidate";

/// Prefix for store tokens. It is separate, because commands remove, back up and list a scan's own
/// prefixes as a whole.
const TOKENS_PREFIX: &str = ".everytab/";

/// Returns the name of a scan's store token: `.everytab/<scan id>`. Workers use only stores that
/// contain it.
pub fn store_token(scan_id: Uuid) -> String {
    format!("{TOKENS_PREFIX}{scan_id}")
}

/// Common prefix for all scans on a site.
pub const SCANS_PREFIX: &str = "scans/";

/// Returns the prefix for all scan objects that the site reads: `scans/<scan id>/`.
pub fn scan_prefix(scan_id: Uuid) -> String {
    format!("{SCANS_PREFIX}{scan_id}/")
}

/// Returns a bundle's name: `scans/<scan id>/tabs/<n>.json`.
pub fn bundle(scan_id: Uuid, number: impl Into<i64>) -> String {
    scan_prefix(scan_id) + &bundle_path(number)
}

/// Returns the content hash for an object's name: the first 8 bytes of the SHA-256 in hexadecimal.
pub fn content_hash(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes)[..8])
}

/// Returns a bundle's path: `tabs/<n>.json`.
pub fn bundle_path(number: impl Into<i64>) -> String {
    format!("tabs/{}.json", number.into())
}

/// Returns a rewritten bundle's path: `tabs/<n>-<content hash>.json`.
pub fn rewritten_bundle_path(number: impl Into<i64>, content_hash: &str) -> String {
    format!("{}{content_hash}.json", rewritten_bundles_prefix(number))
}

/// Returns the prefix for all rewritten versions of one bundle.
pub fn rewritten_bundles_prefix(number: impl Into<i64>) -> String {
    format!("tabs/{}-", number.into())
}

/// Returns the path for a hostname file: `search/<range>/<n>.tsv`.
pub fn search_file_path(range: usize, number: usize) -> String {
    format!("{}{number}.tsv", search_range_prefix(range))
}

/// Returns the path for the first keys in a range's files: `search/<range>/index.tsv`.
pub fn search_index_path(range: usize) -> String {
    format!("{}index.tsv", search_range_prefix(range))
}

/// Returns the prefix for a range's search files.
pub fn search_range_prefix(range: usize) -> String {
    format!("search/{range}/")
}

/// Prefix, below the scan's prefix, for word files.
pub const SEARCH_WORDS_PREFIX: &str = "search/words/";

/// Returns the prefix for the files in a word range.
pub fn search_words_prefix(range: usize) -> String {
    format!("{SEARCH_WORDS_PREFIX}{range}/")
}

/// Returns the path for a word file: `search/words/<range>/<n>.tsv`.
pub fn search_words_file_path(range: usize, number: usize) -> String {
    format!("{}{number}.tsv", search_words_prefix(range))
}

/// Returns the path for the first words in a range's files: `search/words/<range>/index.tsv`.
pub fn search_words_index_path(range: usize) -> String {
    format!("{}index.tsv", search_words_prefix(range))
}

/// Prefix for markers of hosts whose words were removed.
pub const SEARCH_REMOVED_PATH: &str = "search/removed/";

/// Returns the path for the marker of a host whose words were removed.
pub fn search_removed_path(hostname: DigestPrefix) -> String {
    SEARCH_REMOVED_PATH.to_owned() + &hex::encode(hostname)
}

/// Parses a path that [`search_removed_path`] returned.
pub fn search_removed_host(path: &str) -> Option<DigestPrefix> {
    let mut hostname = DigestPrefix::default();
    hex::decode_to_slice(path.strip_prefix(SEARCH_REMOVED_PATH)?, &mut hostname).ok()?;
    Some(hostname)
}

/// Path for the list with the scan's search file kinds.
pub const SEARCH_KINDS_PATH: &str = "search/kinds.json";

/// Returns the name of the ranked host list that a scan's search jobs read.
pub fn host_ranks(scan_id: Uuid) -> String {
    archive_prefix(scan_id) + "search/host-ranks.txt"
}

/// Path for the request index, which contains the number of digits in the request files' names.
pub const REQUESTS_INDEX_PATH: &str = "requests/index.json";
/// Prefix, below the scan's prefix, for request files.
pub const REQUESTS_PATH: &str = "requests/";

/// Returns the path for requests to hosts whose SHA-256 starts with `bucket`, in `digits`
/// hexadecimal digits: `requests/<digits>.tsv.gz`.
pub fn request_file_path(bucket: u64, digits: usize) -> String {
    format!("{REQUESTS_PATH}{bucket:0digits$x}.tsv.gz")
}

/// Path for the map's entry in the manifest, which publishing also writes to this object.
pub const MAP_INDEX_PATH: &str = "map/index.json";

/// Path for the map's landmarks.
pub const MAP_LANDMARKS_PATH: &str = "map/landmarks.tsv";

/// Prefix for markers of bundles that must be drawn again.
pub const MAP_REPAINT_PATH: &str = "map/repaint/";

/// Returns the path for the marker of a bundle that must be drawn again.
pub fn map_repaint_path(bundle: impl Into<i64>) -> String {
    format!("{MAP_REPAINT_PATH}{}", bundle.into())
}

/// Parses a path that [`map_repaint_path`] returned.
pub fn map_repaint_number(path: &str) -> Option<i32> {
    path.strip_prefix(MAP_REPAINT_PATH)?.parse().ok()
}

/// Returns the path for a map tile: `map/<level>/<column>-<row>.jpg`.
pub fn map_tile_path(level: u32, column: u32, row: u32) -> String {
    format!("{MAP_PATH}{level}/{column}-{row}.{MAP_TILE_EXTENSION}")
}

/// Prefix for link pages, which must outlive a scan.
pub const LINKS_PREFIX: &str = "t/";

/// Returns the name of a bundle's link page: `t/<n>.html`.
pub fn link_page(bundle: impl Into<i64>) -> String {
    format!("{LINKS_PREFIX}{}.html", bundle.into())
}

/// Parses a name that [`link_page`] returned.
pub fn link_page_number(key: &str) -> Option<i32> {
    let number = key.strip_prefix(LINKS_PREFIX)?.strip_suffix(".html")?.parse().ok()?;
    (key == link_page(number)).then_some(number)
}

/// Prefix for a scan's bundles.
pub const BUNDLES_PREFIX: &str = "tabs/";

/// Prefix for a scan's icon lists.
pub const ICON_LISTS_PREFIX: &str = "icons/";

/// Returns the path for the icon list of the shard whose bundles start at this number:
/// `icons/<n>.bin`.
pub fn icon_list_path(first_bundle: impl Into<i64>) -> String {
    format!("{ICON_LISTS_PREFIX}{}.bin", first_bundle.into())
}

/// Parses a path that [`bundle_path`] returned.
pub fn bundle_number(path: &str) -> Option<i32> {
    path.strip_prefix(BUNDLES_PREFIX)?.strip_suffix(".json")?.parse().ok()
}

/// Parses a path that [`icon_list_path`] returned.
pub fn icon_list_number(path: &str) -> Option<i32> {
    path.strip_prefix(ICON_LISTS_PREFIX)?.strip_suffix(".bin")?.parse().ok()
}

/// Returns the prefix for all scan objects that the site does not read: `archive/<scan id>/`.
pub fn archive_prefix(scan_id: Uuid) -> String {
    format!("archive/{scan_id}/")
}

const TOKEN_DIGITS: usize = 16;

/// Returns the name of the archive with the icons that one lease fetched for a shard:
/// `archive/<scan id>/<shard>-<lease number>-<16 hex digits of the lease's token>.warc.gz`. After a
/// failover that lost the last commits, two leases can have equal numbers, but never equal tokens.
pub fn archive(
    scan_id: Uuid,
    shard: impl Into<i64>,
    lease_number: impl Into<i64>,
    token: Uuid,
) -> String {
    let (shard, lease_number) = (shard.into(), lease_number.into());
    let token: String = token.simple().to_string().chars().take(TOKEN_DIGITS).collect();
    format!("{}{shard}-{lease_number}-{token}.warc.gz", archive_prefix(scan_id))
}

/// Parses shard and lease number in a name that [`archive`] returned for this scan.
pub fn archive_lease(scan_id: Uuid, key: &str) -> Option<(i32, i32)> {
    let name = key.strip_prefix(&archive_prefix(scan_id))?.strip_suffix(".warc.gz")?;
    let mut parts = name.split('-');
    let lease = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let is_token = |part: &str| {
        part.len() == TOKEN_DIGITS && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let is_ours = parts.next().is_some_and(is_token) && parts.next().is_none();
    is_ours.then_some(lease)
}

/// Returns the name for a shard's search lines: `archive/<scan id>/search/<shard>.tsv`.
pub fn search_part(scan_id: Uuid, shard: impl Into<i64>) -> String {
    format!("{}search/{}.tsv", archive_prefix(scan_id), shard.into())
}

/// Returns the name for a shard's thumbnails: `archive/<scan id>/map/<shard>.bin`.
pub fn map_part(scan_id: Uuid, shard: impl Into<i64>) -> String {
    format!("{}map/{}.bin", archive_prefix(scan_id), shard.into())
}

/// Returns the `Content-Type` for a name.
pub fn content_type(key: &str) -> &'static str {
    if key == KEY_DIRECTORY {
        return "application/http-message-signatures-directory+json";
    }
    match file_name(key).rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "tsv" => "text/tab-separated-values; charset=utf-8",
        "svg" => "image/svg+xml",
        "xml" => "application/xml",
        "png" => "image/png",
        "jpg" => "image/jpeg",
        "ico" => "image/x-icon",
        "webmanifest" => "application/manifest+json",
        "gz" => "application/gzip",
        _ => "application/octet-stream",
    }
}

/// Returns the `Cache-Control` for a name. A scan's objects, except request files and landmarks,
/// and names with a content hash may be cached for a year, any other object for a minute.
pub fn cache_control(key: &str) -> &'static str {
    let is_of_requests = key.split('/').nth(2).is_some_and(|folder| folder == "requests");
    let is_edited = is_of_requests || key.ends_with(MAP_LANDMARKS_PATH);
    let is_of_a_scan = key.starts_with("scans/") || key.starts_with("archive/");
    if is_of_a_scan && !is_edited || has_content_hash(key) { CACHE_IMMUTABLE } else { CACHE_SHORT }
}

/// Returns true for `<stem>-<at least 8 hex digits>.<extension>`. A dot may replace the hyphen.
fn has_content_hash(key: &str) -> bool {
    let Some((stem, _)) = file_name(key).rsplit_once('.') else { return false };
    let Some((_, hash)) = stem.rsplit_once(['-', '.']) else { return false };
    hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn file_name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCAN: Uuid = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001);
    const ID: &str = "01900000-0000-7000-8000-000000000001";

    #[test]
    fn names_follow_the_published_layout() {
        assert_eq!(bundle(SCAN, 7), format!("scans/{ID}/tabs/7.json"));
        assert_eq!(bundle(SCAN, 249_999_i64), format!("scans/{ID}/tabs/249999.json"));
        assert_eq!(rewritten_bundle_path(7, "0123abcd"), "tabs/7-0123abcd.json");
        assert_eq!(icon_list_path(70), "icons/70.bin");
        assert_eq!(icon_list_number(&icon_list_path(70)), Some(70));
        assert_eq!(bundle_number(&bundle_path(7)), Some(7));
        assert_eq!(bundle_number(&rewritten_bundle_path(7, "0123abcd")), None);
        assert_eq!(search_file_path(27, 0), "search/27/0.tsv");
        assert_eq!(search_index_path(27), "search/27/index.tsv");
        assert_eq!(search_words_file_path(3, 1), "search/words/3/1.tsv");
        assert_eq!(search_words_index_path(3), "search/words/3/index.tsv");
        let removed = search_removed_path([1, 0xab, 0, 0, 0, 0, 0, 2]);
        assert_eq!(removed, "search/removed/01ab000000000002");
        assert_eq!(search_removed_host(&removed), Some([1, 0xab, 0, 0, 0, 0, 0, 2]));
        assert_eq!(search_removed_host("search/removed/x"), None);
        let named = archive(SCAN, 12, 3, SCAN);
        assert_eq!(named, format!("archive/{ID}/12-3-0190000000007000.warc.gz"));
        assert_eq!(store_token(SCAN), format!(".everytab/{ID}"));
        assert_eq!(request_file_path(0xa, 3), "requests/00a.tsv.gz");
        assert_eq!(search_part(SCAN, 12), format!("archive/{ID}/search/12.tsv"));
        assert_eq!(map_part(SCAN, 12), format!("archive/{ID}/map/12.bin"));
        assert_eq!(map_repaint_number(&map_repaint_path(7)), Some(7));
        assert_eq!(link_page(12_345), "t/12345.html");
        assert_eq!(link_page_number("t/12345.html"), Some(12_345));
        assert_eq!(["t/x.html", "t/07.html", "t/7.htm"].map(link_page_number), [None; 3]);
        assert_eq!(map_tile_path(3, 10, 2), "map/3/10-2.jpg");
        assert_eq!(content_type(&map_tile_path(0, 0, 0)), "image/jpeg");
        assert_eq!([INDEX_HTML, MANIFEST, STATS], ["index.html", "manifest.json", "stats.json"]);
    }

    #[test]
    fn the_lease_of_an_archive_is_read_from_its_name_and_from_no_others() {
        let lease = |name: &str| archive_lease(SCAN, &(archive_prefix(SCAN) + name));
        for token in [SCAN, Uuid::from_u128(u128::MAX), Uuid::nil()] {
            assert_eq!(archive_lease(SCAN, &archive(SCAN, 12, 3, token)), Some((12, 3)));
        }
        let [one, other] = [1, 2].map(|high: u128| Uuid::from_u128(high << 64));
        assert_ne!(archive(SCAN, 12, 3, one), archive(SCAN, 12, 3, other));
        for name in [
            "12.warc.gz",
            "12-3.warc.gz",
            "12-3",
            "12-x.warc.gz",
            "12-3-.warc.gz",
            "12-3-0190.warc.gz",
            "12-3-019000000000700g.warc.gz",
            "12-3-0190000000007000-1.warc.gz",
            "search/12.tsv",
        ] {
            assert_eq!(lease(name), None, "{name}");
        }
        let other = Uuid::from_u128(SCAN.as_u128() + 1);
        assert_eq!(archive_lease(other, &archive(SCAN, 12, 3, SCAN)), None);
    }

    #[test]
    fn prefixes_cover_their_own_objects_and_no_other_scan() {
        let other = Uuid::from_u128(SCAN.as_u128() + 1);
        assert!(bundle(SCAN, 0).starts_with(&scan_prefix(SCAN)));
        assert!(rewritten_bundle_path(1, "ab").starts_with(&rewritten_bundles_prefix(1)));
        assert!(!rewritten_bundle_path(11, "ab").starts_with(&rewritten_bundles_prefix(1)));
        assert!(archive(SCAN, 0, 1, SCAN).starts_with(&archive_prefix(SCAN)));
        assert!(search_part(SCAN, 0).starts_with(&archive_prefix(SCAN)));
        assert!(!bundle(other, 0).starts_with(&scan_prefix(SCAN)));
    }

    #[test]
    fn every_name_is_a_relative_path_of_plain_segments() {
        for key in [
            bundle(SCAN, 0),
            scan_prefix(SCAN) + &search_file_path(0, 1),
            archive(SCAN, 0, 1, SCAN),
            search_part(SCAN, 0),
            MANIFEST.to_owned(),
        ] {
            assert!(key.split('/').all(|segment| !["", ".", ".."].contains(&segment)), "{key}");
            assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
        }
    }

    #[test]
    fn only_names_that_never_change_content_are_cached_for_long() {
        for key in [
            INDEX_HTML,
            MANIFEST,
            STATS,
            KEY_DIRECTORY,
            SECURITY_TXT,
            "favicon.ico",
            "t/12345678.html",
            "js/layout.js",
            "x-12ab.js",
        ] {
            assert_eq!(cache_control(key), CACHE_SHORT, "{key}");
        }
        for path in [&request_file_path(0, 2), MAP_LANDMARKS_PATH] {
            assert_eq!(cache_control(&(scan_prefix(SCAN) + path)), CACHE_SHORT, "{path}");
        }
        let bundle = bundle(SCAN, 0);
        for key in [bundle.as_str(), "js/app-0123abcd.js", "page.0123456789abcdef.css"] {
            assert_eq!(cache_control(key), CACHE_IMMUTABLE, "{key}");
        }
    }

    #[test]
    fn the_extension_decides_the_content_type() {
        assert_eq!(content_type("index.html"), "text/html; charset=utf-8");
        assert_eq!(content_type("a.b/tabs/0.json"), "application/json");
        let directory = "application/http-message-signatures-directory+json";
        assert_eq!(content_type(KEY_DIRECTORY), directory);
        assert_eq!(content_type("a.html/noext"), "application/octet-stream");
        assert_eq!(content_type("archive/x/0-1.warc.gz"), "application/gzip");
    }
}
