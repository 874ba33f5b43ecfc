//! The rows of a checkpoint, as the tables have them.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

/// How much the sums of a crawl in one slot grow by a checkpoint.
/// Invariant: known = pending + captured + failed + refused + left.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CrawlCounts {
    /// The crawl.
    pub crawl: i32,
    /// URLs that became known.
    pub known: i64,
    /// URLs that became pending, less those that were answered.
    pub pending: i64,
    /// Fetches whose record was kept.
    pub captured: i64,
    /// Fetches that failed, by outcome.
    pub failed: Value,
    /// Fetches that were refused, by reason.
    pub refused: Value,
    /// URLs that were given up, by reason.
    pub left: Value,
    /// Links that never became known, by reason.
    pub links_refused: Value,
    /// Links that this checkpoint records for any slot.
    pub sent: i64,
    /// Links that were merged.
    pub read: i64,
    /// Reserved pages that were used.
    pub pages: i64,
    /// Reserved pages that are given back.
    pub given_back: i64,
    /// Bytes that were put to the store.
    pub stored_bytes: i64,
}

/// How a URL's turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRow {
    /// The crawl.
    pub crawl: i32,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Hash of the normalized key.
    pub url_hash: u64,
    /// The URL as first seen.
    pub url: String,
    /// When it was asked for.
    pub at: DateTime<Utc>,
    /// How long the answer took, in milliseconds; none where nothing was asked.
    pub duration_ms: Option<i32>,
    /// Links from a seed to the URL.
    pub depth: i16,
    /// The HTTP status.
    pub status: Option<i16>,
    /// One word: how it ended.
    pub outcome: String,
    /// Bytes of the body as it is kept.
    pub bytes: Option<i32>,
    /// Digest of that body.
    pub sha256: Option<[u8; 32]>,
    /// MIME type.
    pub mime: Option<String>,
    /// Charset.
    pub charset: Option<String>,
    /// Language.
    pub language: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// The validator for the next visit.
    pub etag: Option<String>,
    /// The other validator.
    pub last_modified: Option<String>,
    /// Where a redirect leads.
    pub redirect: Option<String>,
    /// The object that holds the record.
    pub object: Option<String>,
    /// Where the record begins in it, in bytes.
    pub record_offset: Option<i64>,
    /// Its length, in bytes.
    pub record_length: Option<i32>,
    /// The object that holds the body, where another record has it.
    pub body_object: Option<String>,
    /// Where that record begins.
    pub body_offset: Option<i64>,
    /// Its length.
    pub body_length: Option<i32>,
    /// When that record was stored.
    pub body_at: Option<DateTime<Utc>>,
    /// The URL of that record, where it is another one.
    pub body_url: Option<String>,
    /// That URL's hashes, of its host and of its key.
    pub body_hashes: Option<(u64, u64)>,
    /// Why the body is not whole.
    pub truncated: Option<String>,
    /// Its text, at most 64 KiB, where the crawl is searched.
    pub text: Option<String>,
    /// Whether it is a requisite or a sitemap.
    pub is_no_page: bool,
    /// What led to it; `None` if it was submitted.
    pub via: Option<Via>,
    /// What is wrong with the certificate of its server; `None` if nothing is, or over http.
    pub certificate: Option<&'static str>,
}

/// The URL whose link or redirect led to another one of its crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// A URL whose row is recorded before, or by the same checkpoint: the hashes of its host and
    /// key.
    Recorded(u64, u64),
    /// Any URL.
    Url(String),
}

impl Via {
    /// Returns the hashes of host and key of a URL whose row is recorded.
    pub(crate) fn hashes(&self) -> Option<(u64, u64)> {
        match self {
            Self::Recorded(host_hash, url_hash) => Some((*host_hash, *url_hash)),
            Self::Url(_) => None,
        }
    }

    /// Returns the text of any other URL.
    pub(crate) fn url(&self) -> Option<&String> {
        match self {
            Self::Recorded(..) => None,
            Self::Url(url) => Some(url),
        }
    }
}

impl FetchRow {
    /// Returns the hash of the host of what led to the URL, if it is another host's.
    pub(crate) fn via_host_hash(&self) -> Option<u64> {
        let (host_hash, _) = self.via.as_ref()?.hashes()?;
        Some(host_hash).filter(|host_hash| *host_hash != self.host_hash)
    }
}

/// Links of one crawl for some of the 16 slots of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinksRow {
    /// The crawl; of submitted links it is that of the call.
    pub crawl: i32,
    /// The group: slots 16 n to 16 n + 15.
    pub slot_group: i16,
    /// A bit for each slot of the group that links belong to.
    pub slot_mask: i32,
    /// Whether somebody waits for them.
    pub is_urgent: bool,
    /// Number of links.
    pub amount: i32,
    /// The links, packed.
    pub data: Vec<u8>,
}

/// A chunk of what a crawl knows of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRow {
    /// The crawl.
    pub crawl: i32,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Number of the chunk among those of this crawl and host, from 1, ascending.
    pub seq: i32,
    /// Whether it replaces all before it.
    pub is_snapshot: bool,
    /// When a URL of the host is due; none when nothing is pending.
    pub next_due: Option<DateTime<Utc>>,
    /// Known URLs, after this chunk.
    pub known: i32,
    /// Pending URLs, after this chunk.
    pub pending: i32,
    /// The chunk.
    pub data: Vec<u8>,
}

/// What was learnt of a host, for all crawls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostManners {
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Hash of its site.
    pub site_hash: u64,
    /// The hostname.
    pub hostname: String,
    /// When it may be asked again.
    pub free_at: DateTime<Utc>,
    /// The delay between two requests, in milliseconds.
    pub delay_ms: i32,
    /// Its smoothed response time, in milliseconds.
    pub response_ms: i32,
    /// Crawl-delay of its robots.txt, in milliseconds.
    pub crawl_delay_ms: Option<i32>,
    /// The pauses of its origins: an array of objects, as `put_hosts.sql` describes them. `None` if
    /// no origin is paused.
    pub origins: Option<Value>,
    /// Its robots.txt, packed, and until when it holds; none where the row is not to change it.
    pub robots: Option<(Vec<u8>, DateTime<Utc>)>,
    /// Its addresses, and until when they hold; none where the row is not to change them.
    pub addresses: Option<(Vec<String>, DateTime<Utc>)>,
}
