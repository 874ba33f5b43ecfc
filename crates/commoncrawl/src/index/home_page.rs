//! The filter: decides which rows of the index are home pages, and makes their captures.
//!
//! Invariants: every row gets exactly one [`RowVerdict`]; a comparison with null is false, as in
//! SQL; the most selective condition comes first, so that most columns are read in few rows. Must
//! not know: other rows.

use super::{
    capture::{Capture, Protocol},
    columns::{ColumnName, Columns},
    error::IndexError,
};
use crate::hostname::check_hostname;

/// Greatest length of a WARC path in bytes. Those of Common Crawl have about 140.
const MAX_WARC_FILENAME_BYTES: usize = 1_024;

/// What a row of the index is.
pub(super) enum RowVerdict {
    /// The row does not pass the filter.
    NotHomePage,
    /// The row passes the filter, but a needed value is null or invalid.
    Malformed,
    /// The row is a home page.
    HomePage(Capture),
}

/// Applies the filter to `row`, whose path is `/`.
pub(super) fn judge(columns: &mut Columns, row: u64) -> Result<RowVerdict, IndexError> {
    let is_wanted = columns.integer(ColumnName::Status, row)? == Some(200)
        && columns.is_null(ColumnName::Query, row)?
        && columns.is_null(ColumnName::Port, row)?
        && columns.text(ColumnName::MimeType, row)? == Some("text/html");
    if !is_wanted {
        return Ok(RowVerdict::NotHomePage);
    }
    let protocol = match columns.text(ColumnName::Protocol, row)? {
        Some("https") => Protocol::Https,
        Some("http") => Protocol::Http,
        _ => return Ok(RowVerdict::NotHomePage),
    };
    Ok(capture(columns, row, protocol)?.map_or(RowVerdict::Malformed, RowVerdict::HomePage))
}

/// Makes the capture of a row, `None` if a value is null or invalid.
fn capture(
    columns: &mut Columns,
    row: u64,
    protocol: Protocol,
) -> Result<Option<Capture>, IndexError> {
    let hostname = columns.text(ColumnName::Hostname, row)?;
    let hostname = hostname.filter(|name| check_hostname(name).is_ok()).map(str::to_owned);
    let warc_filename = columns.text(ColumnName::WarcFilename, row)?;
    let warc_filename = warc_filename.filter(|name| is_relative_path(name)).map(str::to_owned);
    let offset = columns.integer(ColumnName::Offset, row)?.filter(|offset| *offset >= 0);
    let length = columns.integer(ColumnName::Length, row)?.filter(|length| *length > 0);
    let fetch_time = columns.micros(ColumnName::FetchTime, row)?;
    let member =
        offset.zip(length).filter(|(offset, length)| offset.checked_add(*length).is_some());
    let Some((((hostname, warc_filename), (offset, length)), fetch_time_micros)) =
        hostname.zip(warc_filename).zip(member).zip(fetch_time)
    else {
        return Ok(None);
    };
    Ok(Some(Capture {
        hostname,
        protocol,
        warc_filename,
        warc_record_offset: offset.unsigned_abs(),
        warc_record_length: length.unsigned_abs(),
        fetch_time_micros,
    }))
}

/// Returns true if `name` can be appended to the URL of a bucket or folder without leaving it.
pub(super) fn is_relative_path(name: &str) -> bool {
    name.len() <= MAX_WARC_FILENAME_BYTES
        && !name.chars().any(|c| c.is_control() || c == '\\')
        && name.split('/').all(|step| !matches!(step, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::is_relative_path;

    #[test]
    fn only_paths_that_stay_inside_their_folder_pass() {
        assert!(is_relative_path("crawl-data/CC-MAIN-2026-05/segments/1/warc/CC-1.warc.gz"));
        assert!(is_relative_path("..a/b..c.gz"));
        for path in ["", "/etc/passwd", "a/../b", "..", "a//b", "a/./b", "a\\b", "a\nb", "a/"] {
            assert!(!is_relative_path(path), "{path:?}");
        }
        assert!(!is_relative_path(&"a".repeat(1_025)));
    }
}
