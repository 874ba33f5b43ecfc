//! Counts the rows that the index reader has read, by result.

use crate::hostname::HostnameError;

/// Why a row that is otherwise a home page does not pass the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutRow {
    /// The media type is `application/xhtml+xml`.
    Xhtml,
    /// The media type is null, empty or `unk`. Common Crawl writes `unk` if the type is unknown.
    UnknownMediaType,
    /// The media type is neither HTML nor XHTML.
    OtherMediaType,
    /// The URL ends in `/?`: its query is empty, but not null.
    EmptyQuery,
    /// The URL has no path.
    EmptyPath,
}

impl LeftOutRow {
    /// All reasons, in the order in which [`IndexCounts::left_out`] counts them.
    pub const ALL: [Self; 5] = [
        Self::Xhtml,
        Self::UnknownMediaType,
        Self::OtherMediaType,
        Self::EmptyQuery,
        Self::EmptyPath,
    ];

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Xhtml => "xhtml",
            Self::UnknownMediaType => "unknown_media_type",
            Self::OtherMediaType => "other_media_type",
            Self::EmptyQuery => "empty_query",
            Self::EmptyPath => "empty_path",
        }
    }
}

/// Counts the rows that were read, by result.
///
/// When the reader has finished, `rows = not_home_pages + home_pages`, and `home_pages = captures +
/// duplicates_removed + malformed + beyond_limit`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct IndexCounts {
    /// Rows read. If the options set a limit, the file may contain more rows.
    pub rows: u64,
    /// Rows that did not pass the filter.
    pub not_home_pages: u64,
    /// Rows in `not_home_pages` that pass the filter's other conditions, by reason, in the order of
    /// [`LeftOutRow::ALL`]. If a row has several reasons, only the first one is counted.
    pub left_out: [u64; LeftOutRow::ALL.len()],
    /// Rows that passed the filter.
    pub home_pages: u64,
    /// Captures returned.
    pub captures: u64,
    /// Home pages whose host had a better capture.
    pub duplicates_removed: u64,
    /// Home pages with a null or invalid value in a needed column.
    pub malformed: u64,
    /// Rows in `malformed` with an invalid hostname, in the order of [`HostnameError::ALL`].
    pub hostnames_refused: [u64; HostnameError::ALL.len()],
    /// Home pages that were dropped because the limit was reached.
    pub beyond_limit: u64,
    /// Row groups from which rows were read.
    pub row_groups_read: u64,
    /// Row groups in the file.
    pub row_groups: u64,
    /// Bytes read, excluding metadata.
    pub row_bytes: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Byte ranges read.
    pub ranges_read: u64,
}

impl IndexCounts {
    /// Iterates over the counts in `left_out`, with their reasons.
    pub fn left_out(&self) -> impl Iterator<Item = (LeftOutRow, u64)> {
        LeftOutRow::ALL.into_iter().zip(self.left_out)
    }

    /// Iterates over the counts in `hostnames_refused`, with their reasons.
    pub fn hostnames_refused(&self) -> impl Iterator<Item = (HostnameError, u64)> {
        HostnameError::ALL.into_iter().zip(self.hostnames_refused)
    }

    pub(super) fn leave_out(&mut self, reason: LeftOutRow) {
        let counts = LeftOutRow::ALL.iter().zip(&mut self.left_out);
        counts.filter(|(each, _)| **each == reason).for_each(|(_, count)| *count += 1);
    }

    pub(super) fn refuse(&mut self, reason: HostnameError) {
        let counts = HostnameError::ALL.iter().zip(&mut self.hostnames_refused);
        counts.filter(|(each, _)| **each == reason).for_each(|(_, count)| *count += 1);
    }

    /// Returns true if every row is counted exactly once. Call this when the reader has finished,
    /// because until then some captures are held and not counted.
    pub fn add_up(&self) -> bool {
        let kept = self.captures + self.duplicates_removed + self.malformed + self.beyond_limit;
        self.rows == self.not_home_pages + self.home_pages && self.home_pages == kept
    }
}
