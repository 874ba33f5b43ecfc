//! The filter: which row of the index is a home page, and the capture it makes.
//!
//! Invariants: every row is exactly one of [`Verdict`]'s; a comparison with null is false, as in
//! SQL; the rarest condition comes first, so that most columns are read at few rows. Must not
//! know: other rows.

use super::capture::{Capture, Protocol};
use super::columns::{Columns, Name};
use super::error::IndexError;
use crate::hostname::check_hostname;

/// Longer than any WARC path Common Crawl has published (about 140 bytes).
const MAX_WARC_FILENAME_BYTES: usize = 1_024;

/// What a row is.
pub(super) enum Verdict {
    /// The filter does not want it.
    NotHomePage,
    /// A home page by the filter, with a value that no right index has.
    Malformed,
    HomePage(Capture),
}

/// Judges `row`, whose path is `/`.
pub(super) fn judge(columns: &mut Columns, row: u64) -> Result<Verdict, IndexError> {
    let is_wanted = columns.integer(Name::Status, row)? == Some(200)
        && columns.is_null(Name::Query, row)?
        && columns.is_null(Name::Port, row)?
        && columns.text(Name::MimeType, row)? == Some("text/html");
    if !is_wanted {
        return Ok(Verdict::NotHomePage);
    }
    let protocol = match columns.text(Name::Protocol, row)? {
        Some("https") => Protocol::Https,
        Some("http") => Protocol::Http,
        _ => return Ok(Verdict::NotHomePage),
    };
    Ok(capture(columns, row, protocol)?.map_or(Verdict::Malformed, Verdict::HomePage))
}

fn capture(
    columns: &mut Columns,
    row: u64,
    protocol: Protocol,
) -> Result<Option<Capture>, IndexError> {
    let hostname = columns.text(Name::Hostname, row)?;
    let hostname = hostname.filter(|name| check_hostname(name).is_ok()).map(str::to_owned);
    let warc_filename = columns.text(Name::WarcFilename, row)?;
    let warc_filename = warc_filename.filter(|name| is_relative_path(name)).map(str::to_owned);
    let offset = columns.integer(Name::Offset, row)?.filter(|offset| *offset >= 0);
    let length = columns.integer(Name::Length, row)?.filter(|length| *length > 0);
    let fetch_time = columns.micros(Name::FetchTime, row)?;
    let place = offset.zip(length).filter(|(offset, length)| offset.checked_add(*length).is_some());
    let Some((((hostname, warc_filename), (offset, length)), fetch_time_micros)) =
        hostname.zip(warc_filename).zip(place).zip(fetch_time)
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

/// Whether `name` can be appended to a bucket's or a folder's address and stay inside it.
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
