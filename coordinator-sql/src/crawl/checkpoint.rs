//! Records a slot holder's work since the last checkpoint, in one transaction.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::{
    client::coordinator::Coordinator,
    connection::{
        bind::{bind, sql_row, sql_rows, storable},
        call::run,
        hash::signed_hash,
    },
    crawl::{
        links::SqlLink,
        rows::{ChunkRow, CrawlCounts, FetchRow, FrontierHostRow, LinksRow, Via},
        slots::SlotFence,
    },
    error::Error,
};

/// The contents of a slot's checkpoint.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The fence of the slot's lease.
    pub fence: SlotFence,
    /// The checkpoint's number within its lease, starting at 1.
    pub number: i64,
    /// The new cursor for ordinary links. `None` keeps the recorded one.
    pub cursor: Option<String>,
    /// The new cursor for urgent links. `None` keeps the recorded one.
    pub urgent_cursor: Option<String>,
    /// Changes to the sums, one element for each crawl that another row names.
    pub counts: Vec<CrawlCounts>,
    /// Rows for finished URLs.
    pub fetches: Vec<FetchRow>,
    /// Links for other slots.
    pub links: Vec<LinksRow>,
    /// Host state chunks.
    pub chunks: Vec<ChunkRow>,
    /// Host rows with delays, pauses and robots.txt.
    pub hosts: Vec<FrontierHostRow>,
}

/// A checkpoint's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointResult {
    /// The checkpoint is recorded, by this call or by an earlier one whose reply was lost.
    Recorded {
        /// The crawls in this checkpoint that have ended. Nothing was recorded for those that had
        /// ended before.
        ended: Vec<i32>,
    },
    /// The lease is lost, and nothing was recorded.
    Lost,
}

fn text(value: Option<&String>) -> Option<String> {
    value.map(|value| storable(value))
}

sql_row!("fetch_row": SqlFetch from FetchRow as |row| {
    crawl: i32 = row.crawl,
    host_hash: i64 = signed_hash(row.host_hash),
    url_hash: i64 = signed_hash(row.url_hash),
    url: String = storable(&row.url),
    at: DateTime<Utc> = row.at,
    duration_ms: Option<i32> = row.duration_ms,
    depth: i16 = row.depth,
    status: Option<i16> = row.status,
    outcome: &'a str = &row.outcome,
    bytes: Option<i32> = row.bytes,
    sha256: Option<&'a [u8]> = row.sha256.as_ref().map(<[u8; 32]>::as_slice),
    mime: Option<String> = text(row.mime.as_ref()),
    charset: Option<String> = text(row.charset.as_ref()),
    language: Option<String> = text(row.language.as_ref()),
    title: Option<String> = text(row.title.as_ref()),
    etag: Option<String> = text(row.etag.as_ref()),
    last_modified: Option<String> = text(row.last_modified.as_ref()),
    redirect: Option<String> = text(row.redirect.as_ref()),
    object: Option<&'a str> = row.object.as_deref(),
    record_offset: Option<i64> = row.record_offset,
    record_length: Option<i32> = row.record_length,
    body_object: Option<&'a str> = row.body_object.as_deref(),
    body_offset: Option<i64> = row.body_offset,
    body_length: Option<i32> = row.body_length,
    body_at: Option<DateTime<Utc>> = row.body_at,
    body_url: Option<String> = text(row.body_url.as_ref()),
    body_host_hash: Option<i64> = row.body_hashes.map(|(host, _)| signed_hash(host)),
    body_url_hash: Option<i64> = row.body_hashes.map(|(_, url)| signed_hash(url)),
    truncated: Option<&'a str> = row.truncated.as_deref(),
    text: Option<String> = text(row.text.as_ref()),
    is_no_page: bool = row.is_no_page,
    via_host_hash: Option<i64> = row.via_host_hash().map(signed_hash),
    via_url_hash: Option<i64> =
        row.via.as_ref().and_then(Via::hashes).map(|(_, url_hash)| signed_hash(url_hash)),
    via: Option<String> = text(row.via.as_ref().and_then(Via::url)),
    certificate: Option<&'static str> = row.certificate,
});

sql_row!("chunk_row": SqlChunk from ChunkRow as |row| {
    crawl: i32 = row.crawl,
    host_hash: i64 = signed_hash(row.host_hash),
    seq: i32 = row.seq,
    is_snapshot: bool = row.is_snapshot,
    next_due: Option<DateTime<Utc>> = row.next_due,
    known: i32 = row.known,
    pending: i32 = row.pending,
    data: &'a [u8] = &row.data,
});

sql_row!("host_row": SqlHost from FrontierHostRow as |row| {
    host_hash: i64 = signed_hash(row.host_hash),
    site_hash: i64 = signed_hash(row.site_hash),
    hostname: &'a str = &row.hostname,
    free_at: DateTime<Utc> = row.free_at,
    delay_ms: i32 = row.delay_ms,
    response_ms: i32 = row.response_ms,
    crawl_delay_ms: Option<i32> = row.crawl_delay_ms,
    origins: Option<&'a Value> = row.origins.as_ref(),
    robots: Option<&'a [u8]> = row.robots.as_ref().map(|(text, _)| text.as_slice()),
    robots_until: Option<DateTime<Utc>> = row.robots.as_ref().map(|(_, until)| *until),
    addresses: Option<&'a [String]> = row.addresses.as_ref().map(|(all, _)| all.as_slice()),
    addresses_until: Option<DateTime<Utc>> = row.addresses.as_ref().map(|(_, until)| *until),
});

impl Coordinator {
    /// Records a checkpoint, which may be sent again if the reply is lost.
    ///
    /// # Errors
    /// Returns an error if the counts do not add up.
    pub async fn checkpoint_slot(
        &self,
        checkpoint: &Checkpoint,
    ) -> Result<CheckpointResult, Error> {
        let Checkpoint { fence, counts, fetches, links, chunks, hosts, .. } = checkpoint;
        let counts: Value = serde_json::to_value(counts)
            .map_err(|error| Error::Unexpected(format!("counts: {error}")))?;
        let fetches: Vec<SqlFetch<'_>> = sql_rows(fetches);
        let links: Vec<SqlLink<'_>> = sql_rows(links);
        let chunks: Vec<SqlChunk<'_>> = sql_rows(chunks);
        let hosts: Vec<SqlHost<'_>> = sql_rows(hosts);
        let sql = "select word, ended from coordinator.checkpoint_slot($1, $2, $3, $4, $5, $6, $7,
                                                                       $8, $9, $10, $11)";
        let parameters = [
            bind(&fence.slot),
            bind(&fence.lease_number),
            bind(&fence.token),
            bind(&checkpoint.number),
            bind(&checkpoint.cursor),
            bind(&checkpoint.urgent_cursor),
            bind(&counts),
            bind(&fetches),
            bind(&links),
            bind(&chunks),
            bind(&hosts),
        ];
        let rows = run(&self.work, sql, &parameters).await?;
        let row = rows.first().ok_or_else(|| Error::Unexpected("no row".into()))?;
        match row.try_get("word")? {
            "recorded" | "repeated" => {
                Ok(CheckpointResult::Recorded { ended: row.try_get("ended")? })
            }
            "lost" => Ok(CheckpointResult::Lost),
            word => Err(Error::Unexpected(format!("the checkpoint result {word:?}"))),
        }
    }
}
