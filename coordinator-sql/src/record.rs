//! Writes a job's rows: one fenced chunk per call, through the SQL function of its kind.

use crate::{
    bind::{Bound, bind},
    call::Transaction,
    error::Error,
    fences::fenced,
    job::Fence,
    rows::{BundleRow, HostRow, IconRow, PageRow, RowChunk},
};

/// Collects one column of the rows into an array.
macro_rules! column {
    ($rows:expr, |$row:ident| $value:expr) => {
        $rows.iter().map(|$row| $value).collect::<Vec<_>>()
    };
}

/// Records a chunk of rows, the `number`-th of its lease. Returns false if the lease is lost.
pub(crate) async fn record(
    transaction: &Transaction,
    fence: Fence,
    number: i32,
    chunk: RowChunk<'_>,
) -> Result<bool, Error> {
    let chunk_of = ChunkOf { transaction, fence, number };
    match chunk {
        RowChunk::Nothing => Ok(true),
        RowChunk::Hosts(rows) => hosts(&chunk_of, rows).await,
        RowChunk::Pages(rows) => pages(&chunk_of, rows).await,
        RowChunk::Icons(rows) => icons(&chunk_of, rows).await,
        RowChunk::Bundles(row) => bundles(&chunk_of, row).await,
    }
}

/// The lease and position of a chunk.
#[derive(Debug)]
struct ChunkOf<'a> {
    transaction: &'a Transaction,
    fence: Fence,
    number: i32,
}

impl ChunkOf<'_> {
    async fn record<const N: usize>(
        &self,
        sql: &str,
        columns: [Bound<'_>; N],
    ) -> Result<bool, Error> {
        let columns = [bind(&self.number)].into_iter().chain(columns);
        self.transaction.value(sql, &fenced(&self.fence, columns)).await
    }
}

async fn hosts(chunk: &ChunkOf<'_>, rows: &[HostRow]) -> Result<bool, Error> {
    let sql = "select coordinator.record_hosts($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)";
    chunk
        .record(
            sql,
            [
                bind(&column!(rows, |row| signed_hash(row.hash))),
                bind(&column!(rows, |row| row.hostname.as_str())),
                bind(&column!(rows, |row| row.https)),
                bind(&column!(rows, |row| row.fetch_time)),
                bind(&column!(rows, |row| row.warc_path.as_str())),
                bind(&column!(rows, |row| row.warc_offset)),
                bind(&column!(rows, |row| row.warc_length)),
            ],
        )
        .await
}

async fn pages(chunk: &ChunkOf<'_>, rows: &[PageRow]) -> Result<bool, Error> {
    let sql = "select coordinator.record_pages($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)";
    chunk
        .record(
            sql,
            [
                bind(&column!(rows, |row| row.host_no)),
                bind(&column!(rows, |row| row.hostname.as_str())),
                bind(&column!(rows, |row| row.https)),
                bind(&column!(rows, |row| row.frameable)),
                bind(&column!(rows, |row| row.framing_rule.as_str())),
                bind(&column!(rows, |row| row.charset.as_deref())),
                bind(&column!(rows, |row| row.title_state.as_str())),
                bind(&column!(rows, |row| row.title.as_deref())),
                bind(&column!(rows, |row| row.candidates.as_str())),
                bind(&column!(rows, |row| row.outcome.as_str())),
            ],
        )
        .await
}

async fn icons(chunk: &ChunkOf<'_>, rows: &[IconRow]) -> Result<bool, Error> {
    let sql = "select coordinator.record_icons($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,
               $16)";
    chunk
        .record(
            sql,
            [
                bind(&column!(rows, |row| row.host_no)),
                bind(&column!(rows, |row| row.candidate_no)),
                bind(&column!(rows, |row| row.touch)),
                bind(&column!(rows, |row| row.width)),
                bind(&column!(rows, |row| row.height)),
                bind(&column!(rows, |row| row.bytes)),
                bind(&column!(rows, |row| row.archive_offset)),
                bind(&column!(rows, |row| row.archive_length)),
                bind(&column!(rows, |row| row.sha256.as_deref())),
                bind(&column!(rows, |row| row.outcome.as_str())),
                bind(&column!(rows, |row| row.content_type.as_deref())),
                bind(&column!(rows, |row| row.url.as_str())),
            ],
        )
        .await
}

async fn bundles(chunk: &ChunkOf<'_>, row: &BundleRow) -> Result<bool, Error> {
    let sql = "select coordinator.record_bundles($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)";
    chunk
        .record(
            sql,
            [
                bind(&row.first_bundle),
                bind(&row.bundles),
                bind(&row.tabs),
                bind(&row.with_icon),
                bind(&row.bytes),
                bind(&row.digest.as_slice()),
            ],
        )
        .await
}

/// Returns a hash as Postgres stores it: with the sign bit flipped, so that signed order is
/// unsigned order.
pub(crate) fn signed_hash(hash: u64) -> i64 {
    (hash ^ (1 << 63)).cast_signed()
}

/// Returns the hash that Postgres stores as `hash`.
pub(crate) fn unsigned_hash(hash: i64) -> u64 {
    hash.cast_unsigned() ^ (1 << 63)
}
