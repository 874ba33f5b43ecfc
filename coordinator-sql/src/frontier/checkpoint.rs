//! A checkpoint: a slot holder's work since the last one, recorded in one transaction.

use serde_json::Value;
use tokio_postgres::types::{ToSql, Type};

use crate::{
    bind::{Bind, bind, storable},
    call::run,
    coordinator::Coordinator,
    error::Error,
    frontier::{
        rows::{ChunkRow, CrawlCounts, FetchRow, HostManners, LinksRow, Via},
        slots::SlotFence,
    },
    record::signed_hash,
};

/// Everything that one checkpoint of a slot records.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The fence of the slot's lease.
    pub fence: SlotFence,
    /// The checkpoint's number within its lease, from 1.
    pub number: i64,
    /// The slot's new cursor for ordinary links. `None` if no cursor has moved since the last
    /// checkpoint.
    pub cursor: Option<String>,
    /// The slot's new cursor for urgent links. `None` like `cursor`.
    pub urgent_cursor: Option<String>,
    /// Sums by crawl, without duplicates: one for every crawl that any other row names.
    pub counts: Vec<CrawlCounts>,
    /// Rows for finished URLs.
    pub fetches: Vec<FetchRow>,
    /// Links for other slots.
    pub links: Vec<LinksRow>,
    /// Host state chunks.
    pub chunks: Vec<ChunkRow>,
    /// Host rows: their delays, pauses and robots.txt.
    pub hosts: Vec<HostManners>,
}

/// A checkpoint's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointAnswer {
    /// It is recorded, by this call or by an earlier one whose reply was lost. The given crawls
    /// have ended. Nothing was recorded for crawls that had ended before.
    Recorded {
        /// The crawls that have ended.
        ended: Vec<i32>,
    },
    /// The lease is lost, and nothing was recorded.
    Lost,
}

/// The call, with one parameter per column.
const CALL: &str = concat!(
    "select word, ended from coordinator.checkpoint_slot(",
    "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,",
    "$24,$25,$26,$27,$28,$29,$30,$31,$32,$33,$34,$35,$36,$37,$38,$39,$40,$41,$42,$43,$44,",
    "$45,$46,$47,$48,$49,$50,$51,$52,$53,$54,$55,$56,$57,$58,$59,$60,$61,$62,$63,$64,$65,",
    "$66,$67,$68)",
);

/// One column of rows, as an array and its type.
type Column<'a> = (Box<dyn ToSql + Sync + Send + 'a>, Type);

fn column<'a, R, T>(rows: &'a [R], value: impl Fn(&'a R) -> T) -> Column<'a>
where
    T: Bind + Send + 'a,
{
    (Box::new(rows.iter().map(value).collect::<Vec<T>>()), T::ARRAY)
}

/// Converts text from the web for a column.
fn text(value: Option<&String>) -> Option<String> {
    value.map(|value| storable(value))
}

/// Returns the fetch columns.
fn fetch_columns(rows: &[FetchRow]) -> Vec<Column<'_>> {
    vec![
        column(rows, |row| row.crawl),
        column(rows, |row| signed_hash(row.host_hash)),
        column(rows, |row| signed_hash(row.url_hash)),
        column(rows, |row| storable(&row.url)),
        column(rows, |row| row.at),
        column(rows, |row| row.duration_ms),
        column(rows, |row| row.depth),
        column(rows, |row| row.status),
        column(rows, |row| row.outcome.as_str()),
        column(rows, |row| row.bytes),
        column(rows, |row| row.sha256.as_ref().map(<[u8; 32]>::as_slice)),
        column(rows, |row| text(row.mime.as_ref())),
        column(rows, |row| text(row.charset.as_ref())),
        column(rows, |row| text(row.language.as_ref())),
        column(rows, |row| text(row.title.as_ref())),
        column(rows, |row| text(row.etag.as_ref())),
        column(rows, |row| text(row.last_modified.as_ref())),
        column(rows, |row| text(row.redirect.as_ref())),
        column(rows, |row| row.object.as_deref()),
        column(rows, |row| row.record_offset),
        column(rows, |row| row.record_length),
        column(rows, |row| row.body_object.as_deref()),
        column(rows, |row| row.body_offset),
        column(rows, |row| row.body_length),
        column(rows, |row| row.body_at),
        column(rows, |row| text(row.body_url.as_ref())),
        column(rows, |row| row.body_hashes.map(|(host, _)| signed_hash(host))),
        column(rows, |row| row.body_hashes.map(|(_, url)| signed_hash(url))),
        column(rows, |row| row.truncated.as_deref()),
        column(rows, |row| text(row.text.as_ref())),
        column(rows, |row| row.is_no_page),
        column(rows, |row| row.via_host_hash().map(signed_hash)),
        column(rows, |row| {
            let hashes = row.via.as_ref().and_then(Via::hashes);
            hashes.map(|(_, url_hash)| signed_hash(url_hash))
        }),
        column(rows, |row| text(row.via.as_ref().and_then(Via::url))),
        column(rows, |row| row.certificate),
    ]
}

/// Returns the link columns.
fn link_columns(rows: &[LinksRow]) -> Vec<Column<'_>> {
    vec![
        column(rows, |row| row.crawl),
        column(rows, |row| row.slot_group),
        column(rows, |row| row.slot_mask),
        column(rows, |row| row.is_urgent),
        column(rows, |row| row.amount),
        column(rows, |row| row.data.as_slice()),
    ]
}

/// Returns the chunk columns.
fn chunk_columns(rows: &[ChunkRow]) -> Vec<Column<'_>> {
    vec![
        column(rows, |row| row.crawl),
        column(rows, |row| signed_hash(row.host_hash)),
        column(rows, |row| row.seq),
        column(rows, |row| row.is_snapshot),
        column(rows, |row| row.next_due),
        column(rows, |row| row.known),
        column(rows, |row| row.pending),
        column(rows, |row| row.data.as_slice()),
    ]
}

/// Returns the host columns.
fn host_columns(rows: &[HostManners]) -> Vec<Column<'_>> {
    vec![
        column(rows, |row| signed_hash(row.host_hash)),
        column(rows, |row| signed_hash(row.site_hash)),
        column(rows, |row| row.hostname.as_str()),
        column(rows, |row| row.free_at),
        column(rows, |row| row.delay_ms),
        column(rows, |row| row.response_ms),
        column(rows, |row| row.crawl_delay_ms),
        column(rows, |row| row.origins.as_ref().map(Value::to_string)),
        column(rows, |row| row.robots.as_ref().map(|(text, _)| text.as_slice())),
        column(rows, |row| row.robots.as_ref().map(|(_, until)| *until)),
        column(rows, |row| row.addresses.as_ref().map(|(all, _)| all.join(","))),
        column(rows, |row| row.addresses.as_ref().map(|(_, until)| *until)),
    ]
}

impl Coordinator {
    /// Records a checkpoint. It can be sent again if its reply was lost.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or rejects numbers that do not add up.
    pub async fn checkpoint_slot(
        &self,
        checkpoint: &Checkpoint,
    ) -> Result<CheckpointAnswer, Error> {
        let Checkpoint { fence, counts, fetches, links, chunks, hosts, .. } = checkpoint;
        let counts: Value = serde_json::to_value(counts)
            .map_err(|error| Error::Unexpected(format!("counts: {error}")))?;
        let columns: Vec<Column<'_>> = [
            fetch_columns(fetches),
            link_columns(links),
            chunk_columns(chunks),
            host_columns(hosts),
        ]
        .into_iter()
        .flatten()
        .collect();
        let mut parameters = vec![
            bind(&fence.slot),
            bind(&fence.lease_number),
            bind(&fence.token),
            bind(&checkpoint.number),
            bind(&checkpoint.cursor),
            bind(&checkpoint.urgent_cursor),
            bind(&counts),
        ];
        for (values, kind) in &columns {
            parameters.push((&**values, kind.clone()));
        }
        let rows = run(&self.work, CALL, &parameters).await?;
        let row = rows.first().ok_or_else(|| Error::Unexpected("no row".into()))?;
        match row.try_get("word")? {
            "recorded" | "repeated" => {
                Ok(CheckpointAnswer::Recorded { ended: row.try_get("ended")? })
            }
            "lost" => Ok(CheckpointAnswer::Lost),
            word => Err(Error::Unexpected(format!("the word {word:?} of a checkpoint"))),
        }
    }
}
