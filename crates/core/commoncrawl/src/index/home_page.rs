//! Decides which index rows are home pages. The most selective conditions come first, so that most
//! columns are read for only a few rows.

use std::net::IpAddr;

use super::{
    capture::{Capture, Protocol},
    columns::{ColumnName, Columns},
    counts::LeftOutRow,
    error::IndexError,
};
use crate::hostname::{Hostname, HostnameError, canonical_hostname};

/// Maximum WARC path length in bytes. Common Crawl's paths have about 140.
const MAX_WARC_FILENAME_BYTES: usize = 1_024;

pub(super) enum RowVerdict {
    /// The row does not pass the filter. The reason is set only if this row is otherwise a home
    /// page.
    NotHomePage(Option<LeftOutRow>),
    /// The row passes the filter, but a needed value is invalid. The reason is set only for an
    /// invalid hostname.
    Malformed(Option<HostnameError>),
    HomePage(Capture),
}

/// The path of `row` must be `/` or empty.
pub(super) fn judge(
    columns: &mut Columns,
    row: u64,
    path_is_empty: bool,
    is_public_address: fn(IpAddr) -> bool,
) -> Result<RowVerdict, IndexError> {
    let is_wanted = columns.integer(ColumnName::Status, row)? == Some(200)
        && columns.is_null(ColumnName::Port, row)?;
    if !is_wanted {
        return Ok(RowVerdict::NotHomePage(None));
    }
    let media_type = media_type(columns.text(ColumnName::MimeType, row)?);
    let protocol = match columns.text(ColumnName::Protocol, row)? {
        Some("https") => Protocol::Https,
        Some("http") => Protocol::Http,
        _ => return Ok(RowVerdict::NotHomePage(None)),
    };
    let reason = match columns.is_empty_text(ColumnName::Query, row)? {
        Some(false) => return Ok(RowVerdict::NotHomePage(None)),
        Some(true) => Some(LeftOutRow::EmptyQuery),
        None => path_is_empty.then_some(LeftOutRow::EmptyPath),
    };
    if let Some(reason) = media_type.or(reason) {
        return Ok(RowVerdict::NotHomePage(Some(reason)));
    }
    capture(columns, row, protocol, is_public_address)
}

/// Common Crawl keeps the server's letter case, and does not remove parameters after a comma.
fn media_type(media_type: Option<&str>) -> Option<LeftOutRow> {
    let is_end = |c: char| matches!(c, ';' | ',') || c.is_ascii_whitespace();
    let essence = media_type.unwrap_or_default().trim().split(is_end).next().unwrap_or_default();
    let is = |name: &str| essence.eq_ignore_ascii_case(name);
    if is("text/html") {
        None
    } else if is("") || is("unk") {
        Some(LeftOutRow::UnknownMediaType)
    } else if is("application/xhtml+xml") {
        Some(LeftOutRow::Xhtml)
    } else {
        Some(LeftOutRow::OtherMediaType)
    }
}

fn capture(
    columns: &mut Columns,
    row: u64,
    protocol: Protocol,
    is_public_address: fn(IpAddr) -> bool,
) -> Result<RowVerdict, IndexError> {
    let Some(hostname) = columns.text(ColumnName::Hostname, row)? else {
        return Ok(RowVerdict::Malformed(None));
    };
    let hostname = match canonical_hostname(hostname) {
        Ok(Hostname { address: Some(address), .. }) if !is_public_address(address) => {
            return Ok(RowVerdict::Malformed(Some(HostnameError::NotPublic)));
        }
        Ok(hostname) => hostname.text.into_owned(),
        Err(reason) => return Ok(RowVerdict::Malformed(Some(reason))),
    };
    let warc_filename = columns.text(ColumnName::WarcFilename, row)?;
    let warc_filename = warc_filename.filter(|name| is_relative_path(name)).map(str::to_owned);
    let offset = columns.integer(ColumnName::Offset, row)?.filter(|offset| *offset >= 0);
    let length = columns.integer(ColumnName::Length, row)?.filter(|length| *length > 0);
    let fetch_time = columns.micros(ColumnName::FetchTime, row)?;
    let member =
        offset.zip(length).filter(|(offset, length)| offset.checked_add(*length).is_some());
    let Some(((warc_filename, (offset, length)), fetch_time_micros)) =
        warc_filename.zip(member).zip(fetch_time)
    else {
        return Ok(RowVerdict::Malformed(None));
    };
    Ok(RowVerdict::HomePage(Capture {
        hostname,
        protocol,
        warc_filename,
        warc_record_offset: offset.unsigned_abs(),
        warc_record_length: length.unsigned_abs(),
        fetch_time_micros,
    }))
}

/// Returns true if `name` can be appended to the URL of a bucket or directory without leaving it.
pub(crate) fn is_relative_path(name: &str) -> bool {
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
