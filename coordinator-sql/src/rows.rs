//! The rows that jobs record, and the chunks in which they are sent.
//!
//! Must not know: how they are written.

use chrono::{DateTime, Utc};

/// Rows in one chunk at most; a transaction stays well under a second.
const MAX_CHUNK_ROWS: usize = 5_000;
/// Bytes of text in one chunk at most.
const MAX_CHUNK_BYTES: usize = 8 << 20;

/// A capture of a home page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRow {
    /// First 8 bytes, big-endian, of SHA-256 of the hostname.
    pub hash: u64,
    /// The hostname, at most 253 bytes.
    pub hostname: String,
    /// Whether the page was read over https.
    pub https: bool,
    /// When it was captured.
    pub fetch_time: DateTime<Utc>,
    /// The WARC file, below the crawl's source.
    pub warc_path: String,
    /// Where the record's gzip member begins, in bytes.
    pub warc_offset: i64,
    /// The member's length, in bytes.
    pub warc_length: i64,
}

/// What a home page told us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRow {
    /// The host's place in its shard.
    pub host_no: i32,
    /// The hostname.
    pub hostname: String,
    /// Whether the page was read over https.
    pub https: bool,
    /// Whether an https page of another origin may frame it.
    pub frameable: bool,
    /// The rule that decided.
    pub framing_rule: String,
    /// The page's encoding, by its WHATWG name; none when there is no page.
    pub charset: Option<String>,
    /// ok, empty, absent or truncated.
    pub title_state: String,
    /// The title as a tab shows it.
    pub title: Option<String>,
    /// The icon candidates, as JSON.
    pub candidates: String,
    /// How the host ended.
    pub outcome: String,
}

/// What fetching a candidate gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IconRow {
    /// The host's place in its shard.
    pub host_no: i32,
    /// The candidate's place among the host's.
    pub candidate_no: i16,
    /// Whether it was declared as an apple-touch-icon.
    pub touch: bool,
    /// Width of the best entry for 32 px.
    pub width: Option<i32>,
    /// Height of the best entry for 32 px.
    pub height: Option<i32>,
    /// Size of the body in bytes.
    pub bytes: Option<i32>,
    /// How long the fetch took.
    pub duration_ms: i32,
    /// Where in the shard's archive the record with these bytes begins.
    pub archive_offset: Option<i64>,
    /// The length of that record.
    pub archive_length: Option<i64>,
    /// SHA-256 of the body.
    pub sha256: Option<Vec<u8>>,
    /// favicon_ico or link_rel.
    pub source: String,
    /// How the fetch ended.
    pub outcome: String,
    /// The type that the content shows.
    pub content_type: Option<String>,
    /// The declared type.
    pub declared_type: Option<String>,
    /// The declared sizes.
    pub declared_sizes: Option<String>,
    /// The URL, at most 2,048 bytes.
    pub url: String,
}

/// What a bundle-shard job wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleRow {
    /// The shard's first bundle.
    pub first_bundle: i32,
    /// How many bundles.
    pub bundles: i32,
    /// Tabs in them.
    pub tabs: i32,
    /// Tabs with an icon.
    pub with_icon: i32,
    /// Bytes of the bundles.
    pub bytes: i64,
    /// SHA-256 of the bundles' bytes, in order.
    pub digest: [u8; 32],
}

/// What a job adds to the data tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Of an index job.
    Hosts(Vec<HostRow>),
    /// Of a warc job.
    Pages(Vec<PageRow>),
    /// Of an icon job.
    Icons(Vec<IconRow>),
    /// Of a bundle-shard job.
    Bundles(BundleRow),
    /// Of a search or publish job.
    Nothing,
}

/// A slice of an output that one transaction carries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Chunk<'a> {
    Hosts(&'a [HostRow]),
    Pages(&'a [PageRow]),
    Icons(&'a [IconRow]),
    Bundles(&'a BundleRow),
    Nothing,
}

impl Output {
    /// The output in order, in chunks of bounded rows and bytes; never empty.
    pub(crate) fn chunks(&self) -> Vec<Chunk<'_>> {
        let chunks: Vec<Chunk<'_>> = match self {
            Self::Hosts(rows) => split(rows, |row| row.hostname.len() + row.warc_path.len() + 64)
                .map(Chunk::Hosts)
                .collect(),
            Self::Pages(rows) => {
                split(rows, |row| row.candidates.len() + 512).map(Chunk::Pages).collect()
            }
            Self::Icons(rows) => split(rows, |row| row.url.len() + 256).map(Chunk::Icons).collect(),
            Self::Bundles(row) => vec![Chunk::Bundles(row)],
            Self::Nothing => vec![Chunk::Nothing],
        };
        if chunks.is_empty() { vec![Chunk::Nothing] } else { chunks }
    }
}

fn split<T>(rows: &[T], size: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut bytes = 0_usize;
        let fitting = rest
            .iter()
            .take(MAX_CHUNK_ROWS)
            .take_while(|row| {
                bytes = bytes.saturating_add(size(row));
                bytes <= MAX_CHUNK_BYTES
            })
            .count();
        if rest.is_empty() {
            return None;
        }
        let (chunk, behind) = rest.split_at(fitting.max(1));
        rest = behind;
        Some(chunk)
    })
}
