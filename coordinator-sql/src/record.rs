//! Writing a job's rows: one fenced chunk a call, by the SQL function of its kind.

use sqlx::{Postgres, postgres::PgArguments, query::QueryScalar};

use crate::{
    call::Transaction,
    error::Error,
    job::Fence,
    rows::{BundleRow, Chunk, HostRow, IconRow, PageRow},
};

type Recording<'q> = QueryScalar<'q, Postgres, bool, PgArguments>;

/// One column of the rows, as an array.
macro_rules! column {
    ($rows:expr, |$row:ident| $value:expr) => {
        $rows.iter().map(|$row| $value).collect::<Vec<_>>()
    };
}

/// Records a chunk of rows, the `number`-th of its lease. False: the lease is lost.
pub(crate) async fn record(
    transaction: &mut Transaction,
    fence: Fence,
    number: i32,
    chunk: Chunk<'_>,
) -> Result<bool, Error> {
    let recording = match chunk {
        Chunk::Nothing => return Ok(true),
        Chunk::Hosts(rows) => hosts(fence, number, rows),
        Chunk::Pages(rows) => pages(fence, number, rows),
        Chunk::Icons(rows) => icons(fence, number, rows),
        Chunk::Bundles(row) => bundles(fence, number, row),
    };
    Ok(recording.persistent(false).fetch_one(&mut **transaction).await?)
}

fn fenced(sql: &'static str, fence: Fence, number: i32) -> Recording<'static> {
    sqlx::query_scalar(sql)
        .bind(fence.job_id)
        .bind(fence.lease_number)
        .bind(fence.token)
        .bind(number)
}

fn hosts(fence: Fence, number: i32, rows: &[HostRow]) -> Recording<'_> {
    let sql = "select coordinator.record_hosts($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)";
    fenced(sql, fence, number)
        .bind(column!(rows, |row| signed(row.hash)))
        .bind(column!(rows, |row| row.hostname.as_str()))
        .bind(column!(rows, |row| row.https))
        .bind(column!(rows, |row| row.fetch_time))
        .bind(column!(rows, |row| row.warc_path.as_str()))
        .bind(column!(rows, |row| row.warc_offset))
        .bind(column!(rows, |row| row.warc_length))
}

fn pages(fence: Fence, number: i32, rows: &[PageRow]) -> Recording<'_> {
    let sql = "select coordinator.record_pages($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)";
    fenced(sql, fence, number)
        .bind(column!(rows, |row| row.host_no))
        .bind(column!(rows, |row| row.hostname.as_str()))
        .bind(column!(rows, |row| row.https))
        .bind(column!(rows, |row| row.frameable))
        .bind(column!(rows, |row| row.framing_rule.as_str()))
        .bind(column!(rows, |row| row.charset.as_deref()))
        .bind(column!(rows, |row| row.title_state.as_str()))
        .bind(column!(rows, |row| row.title.as_deref()))
        .bind(column!(rows, |row| row.candidates.as_str()))
        .bind(column!(rows, |row| row.outcome.as_str()))
}

fn icons(fence: Fence, number: i32, rows: &[IconRow]) -> Recording<'_> {
    let sql = "select coordinator.record_icons($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,
               $16,$17,$18,$19,$20)";
    fenced(sql, fence, number)
        .bind(column!(rows, |row| row.host_no))
        .bind(column!(rows, |row| row.candidate_no))
        .bind(column!(rows, |row| row.touch))
        .bind(column!(rows, |row| row.width))
        .bind(column!(rows, |row| row.height))
        .bind(column!(rows, |row| row.bytes))
        .bind(column!(rows, |row| row.duration_ms))
        .bind(column!(rows, |row| row.archive_offset))
        .bind(column!(rows, |row| row.archive_length))
        .bind(column!(rows, |row| row.sha256.as_deref()))
        .bind(column!(rows, |row| row.source.as_str()))
        .bind(column!(rows, |row| row.outcome.as_str()))
        .bind(column!(rows, |row| row.content_type.as_deref()))
        .bind(column!(rows, |row| row.declared_type.as_deref()))
        .bind(column!(rows, |row| row.declared_sizes.as_deref()))
        .bind(column!(rows, |row| row.url.as_str()))
}

fn bundles(fence: Fence, number: i32, row: &BundleRow) -> Recording<'_> {
    let sql = "select coordinator.record_bundles($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)";
    fenced(sql, fence, number)
        .bind(row.first_bundle)
        .bind(row.bundles)
        .bind(row.tabs)
        .bind(row.with_icon)
        .bind(row.bytes)
        .bind(row.digest.as_slice())
}

/// The hash as Postgres holds it: the sign bit flipped, so that signed order is unsigned order.
fn signed(hash: u64) -> i64 {
    (hash ^ (1 << 63)).cast_signed()
}
