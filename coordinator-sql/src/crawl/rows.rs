//! Rows that a checkpoint writes.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

/// A checkpoint's changes to a crawl's sums in one slot, where known = pending + captured + failed
/// + refused + left.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CrawlCounts {
    /// The crawl.
    pub crawl: i32,
    /// URLs that became known.
    pub known: i64,
    /// URLs that became pending, minus URLs that finished.
    pub pending: i64,
    /// URLs whose record was stored.
    pub captured: i64,
    /// URLs that failed, by outcome.
    pub failed: Value,
    /// URLs that were refused, by reason.
    pub refused: Value,
    /// URLs that were skipped (state `left`), by reason.
    pub left: Value,
    /// Rejected links, by reason.
    pub links_refused: Value,
    /// Number of links that this checkpoint writes for other slots.
    pub sent: i64,
    /// Number of links that the slot has merged.
    pub read: i64,
    /// Reserved pages that were used.
    pub pages: i64,
    /// Reserved pages that are no longer needed.
    pub given_back: i64,
    /// Bytes that were uploaded to the store.
    pub stored_bytes: i64,
}

/// A finished URL's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRow {
    /// The crawl.
    pub crawl: i32,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Hash of the URL's key.
    pub url_hash: u64,
    /// The URL as first seen.
    pub url: String,
    /// Request time.
    pub at: DateTime<Utc>,
    /// Response time, in milliseconds. `None` without a request.
    pub duration_ms: Option<i32>,
    /// Number of links from a seed.
    pub depth: i16,
    /// The HTTP status.
    pub status: Option<i16>,
    /// The outcome, such as `ok`.
    pub outcome: String,
    /// Stored body size, in bytes.
    pub bytes: Option<i32>,
    /// SHA-256 of the body.
    pub sha256: Option<[u8; 32]>,
    /// MIME type of the body.
    pub mime: Option<String>,
    /// Character encoding name.
    pub charset: Option<String>,
    /// Language of the page.
    pub language: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// The response's `ETag`, for conditional requests.
    pub etag: Option<String>,
    /// The response's `Last-Modified`, for conditional requests.
    pub last_modified: Option<String>,
    /// The redirect target.
    pub redirect: Option<String>,
    /// The archive that contains the record.
    pub object: Option<String>,
    /// Record offset, in bytes.
    pub record_offset: Option<i64>,
    /// Record length, in bytes.
    pub record_length: Option<i32>,
    /// The archive object with an earlier record of the same body. `None` if the fetch has its own
    /// body.
    pub body_object: Option<String>,
    /// Offset of this earlier record, in bytes.
    pub body_offset: Option<i64>,
    /// Length of this earlier record, in bytes.
    pub body_length: Option<i32>,
    /// When this earlier record was stored.
    pub body_at: Option<DateTime<Utc>>,
    /// URL of this earlier record, if it differs from this URL.
    pub body_url: Option<String>,
    /// Hashes of the earlier record's host and key, if its URL differs.
    pub body_hashes: Option<(u64, u64)>,
    /// Why the body is truncated.
    pub truncated: Option<String>,
    /// The page's text, at most 64 KiB. `None` unless the crawl is searchable.
    pub text: Option<String>,
    /// Whether the URL is a requisite or a sitemap.
    pub is_no_page: bool,
    /// The URL that leads to this one. `None` for a seed, or if it is not known.
    pub via: Option<Via>,
    /// The problem with the server's certificate.
    pub certificate: Option<&'static str>,
}

/// The URL that links or redirects to a fetched URL in the same crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// Hashes of the URL's host and key. Its row was recorded earlier, or is in the same
    /// checkpoint.
    Recorded(u64, u64),
    /// A URL that might not have a recorded row.
    Url(String),
}

impl Via {
    pub(super) fn hashes(&self) -> Option<(u64, u64)> {
        match self {
            Self::Recorded(host_hash, url_hash) => Some((*host_hash, *url_hash)),
            Self::Url(_) => None,
        }
    }

    pub(crate) fn url(&self) -> Option<&String> {
        match self {
            Self::Recorded(..) => None,
            Self::Url(url) => Some(url),
        }
    }
}

impl FetchRow {
    /// `None` if the referrer is on the same host or has no recorded row.
    pub(super) fn via_host_hash(&self) -> Option<u64> {
        let (host_hash, _) = self.via.as_ref()?.hashes()?;
        Some(host_hash).filter(|host_hash| *host_hash != self.host_hash)
    }
}

/// A crawl's links for some of the 16 slots in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinksRow {
    /// The crawl, which the submitting call sets for submitted links.
    pub crawl: i32,
    /// The group's number. Group n has slots 16 n to 16 n + 15.
    pub slot_group: i16,
    /// A mask that selects the slots in the group that have links.
    pub slot_mask: i32,
    /// Whether a client is waiting for these links.
    pub is_urgent: bool,
    /// Number of links.
    pub amount: i32,
    /// The links, packed.
    pub data: Vec<u8>,
}

/// A chunk of a host's state in a crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRow {
    /// The crawl.
    pub crawl: i32,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// The chunk's sequence number per crawl and host, starting at 1.
    pub seq: i32,
    /// Whether this chunk replaces all earlier ones.
    pub is_snapshot: bool,
    /// When the host's next URL is due. `None` if nothing is pending.
    pub next_due: Option<DateTime<Utc>>,
    /// The host's known URLs after this chunk.
    pub known: i32,
    /// The host's pending URLs after this chunk.
    pub pending: i32,
    /// The chunk's packed data.
    pub data: Vec<u8>,
}

/// A row in `frontier_hosts`, which all crawls share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontierHostRow {
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Hash of the host's site.
    pub site_hash: u64,
    /// The hostname.
    pub hostname: String,
    /// The earliest time for the next request.
    pub free_at: DateTime<Utc>,
    /// The delay that 429 and 503 responses have caused, in milliseconds.
    pub delay_ms: i32,
    /// The host's smoothed response time, in milliseconds.
    pub response_ms: i32,
    /// The robots.txt's Crawl-delay, in milliseconds.
    pub crawl_delay_ms: Option<i32>,
    /// Origins that are paused, or that have had no success since their last pause, as in
    /// `put_hosts.sql`.
    pub origins: Option<Value>,
    /// Packed robots.txt files and their expiry. `None` keeps the recorded ones.
    pub robots: Option<(Vec<u8>, DateTime<Utc>)>,
    /// IP addresses and their expiry. `None` keeps the recorded ones.
    pub addresses: Option<(Vec<String>, DateTime<Utc>)>,
}
