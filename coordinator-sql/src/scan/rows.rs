//! The rows that jobs record, in chunks.

use chrono::{DateTime, Utc};

/// Maximum rows per chunk, so that its transaction takes well under a second.
const MAX_CHUNK_ROWS: usize = 5_000;
/// Maximum string bytes per chunk, so that a message is small compared with the client's memory.
const MAX_CHUNK_BYTES: usize = 8 << 20;

/// A home page's capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRow {
    /// The first 8 bytes of the hostname's SHA-256, big-endian.
    pub hash: u64,
    /// The hostname, at most 253 bytes.
    pub hostname: String,
    /// Whether the page was captured over https.
    pub https: bool,
    /// Capture time.
    pub fetch_time: DateTime<Utc>,
    /// The WARC file's path below the source.
    pub warc_path: String,
    /// Offset of the record's gzip member, in bytes.
    pub warc_offset: i64,
    /// Length of this gzip member, in bytes.
    pub warc_length: i64,
}

/// The result of reading a home page in a warc job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRow {
    /// Position in its shard, from 0.
    pub host_no: i32,
    /// The hostname.
    pub hostname: String,
    /// Whether the page was captured over https.
    pub https: bool,
    /// Whether other https pages may frame this page.
    pub frameable: bool,
    /// The rule that decides this.
    pub framing_rule: String,
    /// The WHATWG name of the page's encoding. `None` if there is no page.
    pub charset: Option<String>,
    /// The title's state: `ok`, `empty`, `absent` or `truncated`.
    pub title_state: String,
    /// The title as a tab shows it.
    pub title: Option<String>,
    /// The icon candidates, as JSON.
    pub candidates: String,
    /// The host's outcome.
    pub outcome: String,
}

/// The result of fetching one icon candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IconRow {
    /// Position in its shard, from 0.
    pub host_no: i32,
    /// Position in its host, from 0.
    pub candidate_no: i16,
    /// Whether the page declares an apple-touch-icon.
    pub touch: bool,
    /// Width in pixels of the entry that fits 32 px best. `None` if the body is not an image.
    pub width: Option<i32>,
    /// Height in pixels of this image entry.
    pub height: Option<i32>,
    /// Body size, in bytes. `None` if there is no body.
    pub bytes: Option<i32>,
    /// Offset of the body's record in the shard's archive, in bytes.
    pub archive_offset: Option<i64>,
    /// Length of this record, in bytes.
    pub archive_length: Option<i64>,
    /// SHA-256 of the body. `None` if there is no body.
    pub sha256: Option<Vec<u8>>,
    /// The fetch outcome.
    pub outcome: String,
    /// The content's media type. `None` if it is not an image.
    pub content_type: Option<String>,
    /// The URL, at most 2,048 bytes.
    pub url: String,
}

/// A bundle-shard job's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleRow {
    /// The index of the shard's first bundle.
    pub first_bundle: i32,
    /// Number of bundles.
    pub bundles: i32,
    /// Number of tabs in the bundles.
    pub tabs: i32,
    /// Tabs with an icon.
    pub with_icon: i32,
    /// Total size of the bundles, in bytes.
    pub bytes: i64,
    /// SHA-256 of the bundles' bytes, in order.
    pub digest: [u8; 32],
}

/// The rows that a job adds to the data tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The captures that an index job selected.
    Hosts(Vec<HostRow>),
    /// The pages that a warc job read.
    Pages(Vec<PageRow>),
    /// The icons that an icon job fetched.
    Icons(Vec<IconRow>),
    /// The bundles that a bundle-shard job wrote.
    Bundles(BundleRow),
    /// No rows, for all other kinds of jobs.
    Nothing,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum RowChunk<'a> {
    Hosts(&'a [HostRow]),
    Pages(&'a [PageRow]),
    Icons(&'a [IconRow]),
    Bundles(&'a BundleRow),
    Nothing,
}

impl Output {
    /// Each chunk stays within the maximum rows and bytes, except a single row that is larger.
    pub(super) fn chunks(&self) -> Vec<RowChunk<'_>> {
        let chunks: Vec<RowChunk<'_>> = match self {
            Self::Hosts(rows) => split(rows, |row| row.hostname.len() + row.warc_path.len() + 64)
                .map(RowChunk::Hosts)
                .collect(),
            Self::Pages(rows) => {
                split(rows, |row| row.candidates.len() + 512).map(RowChunk::Pages).collect()
            }
            Self::Icons(rows) => {
                split(rows, |row| row.url.len() + 256).map(RowChunk::Icons).collect()
            }
            Self::Bundles(row) => vec![RowChunk::Bundles(row)],
            Self::Nothing => vec![RowChunk::Nothing],
        };
        if chunks.is_empty() { vec![RowChunk::Nothing] } else { chunks }
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
