//! Writes a job's rows, one fenced chunk per call.

use chrono::{DateTime, Utc};

use crate::{
    connection::{
        bind::{Bound, bind, sql_row, sql_rows},
        call::Transaction,
        hash::signed_hash,
    },
    error::Error,
    queue::{fences::fenced, job::Fence},
    scan::rows::{HostRow, IconRow, PageRow, RowChunk},
};

sql_row!("capture_row": SqlCapture from HostRow as |row| {
    hash: i64 = signed_hash(row.hash),
    hostname: &'a str = &row.hostname,
    https: bool = row.https,
    fetch_time: DateTime<Utc> = row.fetch_time,
    path: &'a str = &row.warc_path,
    warc_offset: i64 = row.warc_offset,
    warc_length: i64 = row.warc_length,
});

sql_row!("page_row": SqlPage from PageRow as |row| {
    host_no: i32 = row.host_no,
    hostname: &'a str = &row.hostname,
    https: bool = row.https,
    frameable: bool = row.frameable,
    framing_rule: &'a str = &row.framing_rule,
    charset: Option<&'a str> = row.charset.as_deref(),
    title_state: &'a str = &row.title_state,
    title: Option<&'a str> = row.title.as_deref(),
    candidates: &'a str = &row.candidates,
    outcome: &'a str = &row.outcome,
});

sql_row!("icon_row": SqlIcon from IconRow as |row| {
    host_no: i32 = row.host_no,
    candidate_no: i16 = row.candidate_no,
    touch: bool = row.touch,
    width: Option<i32> = row.width,
    height: Option<i32> = row.height,
    bytes: Option<i32> = row.bytes,
    archive_offset: Option<i64> = row.archive_offset,
    archive_length: Option<i64> = row.archive_length,
    sha256: Option<&'a [u8]> = row.sha256.as_deref(),
    outcome: &'a str = &row.outcome,
    content_type: Option<&'a str> = row.content_type.as_deref(),
    url: &'a str = &row.url,
});

/// Returns false if the lease is lost.
pub(super) async fn record(
    transaction: &Transaction,
    fence: Fence,
    number: i32,
    chunk: RowChunk<'_>,
) -> Result<bool, Error> {
    let record = async |sql: &'static str, rows: Bound<'_>| {
        transaction.value::<bool>(sql, &fenced(&fence, [bind(&number), rows])).await
    };
    match chunk {
        RowChunk::Nothing => Ok(true),
        RowChunk::Hosts(rows) => {
            let rows: Vec<SqlCapture<'_>> = sql_rows(rows);
            record("select coordinator.record_hosts($1, $2, $3, $4, $5)", bind(&rows)).await
        }
        RowChunk::Pages(rows) => {
            let rows: Vec<SqlPage<'_>> = sql_rows(rows);
            record("select coordinator.record_pages($1, $2, $3, $4, $5)", bind(&rows)).await
        }
        RowChunk::Icons(rows) => {
            let rows: Vec<SqlIcon<'_>> = sql_rows(rows);
            record("select coordinator.record_icons($1, $2, $3, $4, $5)", bind(&rows)).await
        }
        RowChunk::Bundles(row) => {
            let sql = "select coordinator.record_bundles($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
            let digest = row.digest.as_slice();
            let parameters = [
                bind(&number),
                bind(&row.first_bundle),
                bind(&row.bundles),
                bind(&row.tabs),
                bind(&row.with_icon),
                bind(&row.bytes),
                bind(&digest),
            ];
            transaction.value(sql, &fenced(&fence, parameters)).await
        }
    }
}
