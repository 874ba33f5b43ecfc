//! The filter: which row of the index is a home page, and the capture it makes.
//!
//! Invariants: every row is exactly one of [`Verdict`]'s; a comparison with null is false, as in
//! SQL. Must not know: other rows.

use super::capture::{Capture, Protocol};
use super::columns::Columns;
use crate::hostname::check_hostname;

/// Longer than any WARC path Common Crawl has published (about 140 bytes).
const MAX_WARC_FILENAME_BYTES: usize = 1_024;

/// What a row is.
pub(super) enum Verdict<'a> {
    /// The filter does not want it.
    NotHomePage,
    /// A home page by the filter, with a value that no right index has.
    Malformed,
    /// A home page: the key that captures of the same site stand under, and the capture.
    HomePage { surtkey: &'a str, capture: Capture },
}

/// Judges row `row` of a batch. The cheapest and rarest condition comes first.
pub(super) fn judge<'a>(columns: &Columns<'a>, row: usize) -> Verdict<'a> {
    let is_wanted = columns.path.get(row) == Some("/")
        && columns.status.get(row) == Some(200)
        && columns.query.is_null(row)
        && columns.port.is_null(row)
        && columns.mime_type.get(row) == Some("text/html");
    let protocol = match columns.protocol.get(row) {
        Some("https") if is_wanted => Protocol::Https,
        Some("http") if is_wanted => Protocol::Http,
        _ => return Verdict::NotHomePage,
    };
    let capture = columns.surtkey.get(row).zip(capture(columns, row, protocol));
    match capture {
        Some((surtkey, capture)) => Verdict::HomePage { surtkey, capture },
        None => Verdict::Malformed,
    }
}

fn capture(columns: &Columns<'_>, row: usize, protocol: Protocol) -> Option<Capture> {
    let hostname = columns.hostname.get(row).filter(|name| check_hostname(name).is_ok())?;
    let warc_filename = columns.warc_filename.get(row).filter(|name| is_relative_path(name))?;
    let offset = columns.offset.get(row).filter(|offset| *offset >= 0)?;
    let length = columns.length.get(row).filter(|length| *length > 0)?;
    offset.checked_add(length)?;
    Some(Capture {
        hostname: hostname.to_owned(),
        protocol,
        warc_filename: warc_filename.to_owned(),
        warc_record_offset: offset.try_into().ok()?,
        warc_record_length: length.try_into().ok()?,
        fetch_time_micros: columns.fetch_time.micros(row)?,
    })
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
