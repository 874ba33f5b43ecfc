//! Reads index rows for robots.txt files from their archives, because a crawl does not record these
//! files as fetches.

use chrono::DateTime;
use everytab_commoncrawl::{
    crawl_layout::ArchiveSubset,
    warc::{Limits, Record, RecordType, Records},
};
use url::Url;

use super::index_row::{NotIndexed, RowReader, StoredRow};

/// Maximum bytes that are read from a record. This is enough, because a row needs only the response
/// head.
const MAX_HEAD_BYTES: u64 = 256 << 10;

/// Returns the rows in the archive `object`, with an error for each record that cannot be read.
pub(crate) fn read_robots_archive(
    reader: &RowReader,
    object: &str,
    archive: &[u8],
) -> Vec<Result<StoredRow, NotIndexed>> {
    let limits = Limits { max_block_bytes: MAX_HEAD_BYTES, ..Limits::default() };
    let mut records = Records::new(archive, limits).peekable();
    let failed = |reason: String| NotIndexed::Record { object: object.to_owned(), reason };
    let mut rows = Vec::new();
    while let Some((offset, record)) = records.next() {
        let end = records.peek().map_or(archive.len() as u64, |(next, _)| *next);
        let record = match record {
            Ok(record) if record.record_type == RecordType::Response => record,
            Ok(_) => continue,
            Err(error) => {
                rows.push(Err(failed(error.to_string())));
                continue;
            }
        };
        let place = (object, offset, end.saturating_sub(offset));
        let row = row_of(&record, place).ok_or_else(|| {
            failed(format!("the record at byte {offset} has no URL, time, ID or response"))
        });
        rows.push(row.and_then(|row| reader.of_record(row)));
    }
    rows
}

fn row_of(record: &Record, (object, offset, length): (&str, u64, u64)) -> Option<StoredRow> {
    let url = record.target_uri()?;
    let at = DateTime::parse_from_rfc3339(&record.date()?).ok()?;
    let answer = record.http_response().ok()?;
    let content_type = answer.headers.text("content-type");
    let mime = content_type.as_deref().and_then(|text| text.split(';').next());
    let location = answer.headers.text("location").filter(|_| (300..400).contains(&answer.status));
    let base = Url::parse(&url).ok();
    let redirect = location.zip(base).and_then(|(location, base)| base.join(&location).ok());
    let id = record.record_id()?;
    Some(StoredRow {
        // `RowReader::of_record` replaces these two values by those from the archive's name.
        subset: ArchiveSubset::RobotsTxt,
        segment: String::new(),
        is_of_table_alone: false,
        fetch_time_micros: at.timestamp_micros(),
        status: answer.status,
        redirect: redirect.map(String::from),
        digest: record.headers.text("warc-payload-digest"),
        mime: mime.map(|mime| mime.trim().to_ascii_lowercase()).filter(|mime| !mime.is_empty()),
        charset: None,
        language: None,
        truncated: record.headers.text("warc-truncated"),
        record_id: id.trim_matches(['<', '>']).to_owned(),
        object: object.to_owned(),
        offset,
        length,
        url,
    })
}
