//! Counts the rows that the index reader has read, by result.

use crate::hostname::HostnameError;

/// Why a row does not pass the filter although it is otherwise a home page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutRow {
    /// The media type is `application/xhtml+xml`.
    Xhtml,
    /// The media type is null, empty or `unk`, which Common Crawl writes for an unknown type.
    UnknownMediaType,
    /// The media type is neither HTML nor XHTML.
    OtherMediaType,
    /// The query is empty but not null, as in `/?`.
    EmptyQuery,
    /// The path is empty.
    EmptyPath,
}

impl LeftOutRow {
    /// All variants, in the order of [`IndexCounts::left_out`].
    pub const ALL: [Self; 5] = [
        Self::Xhtml,
        Self::UnknownMediaType,
        Self::OtherMediaType,
        Self::EmptyQuery,
        Self::EmptyPath,
    ];

    /// Returns a stable name.
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

/// Rows by result.
///
/// When the reader has finished, `rows = not_home_pages + home_pages`, and `home_pages = captures +
/// duplicates_removed + malformed + beyond_limit`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct IndexCounts {
    /// Rows read. With a limit, the file may have more.
    pub rows: u64,
    /// Rows that did not pass the filter.
    pub not_home_pages: u64,
    /// Rows in `not_home_pages` with a [`LeftOutRow`] reason, in the order of [`LeftOutRow::ALL`].
    /// A row with several reasons is counted once.
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
    /// Home pages dropped because the limit was reached.
    pub beyond_limit: u64,
    /// Row groups from which rows were read.
    pub row_groups_read: u64,
    /// Row groups in the file.
    pub row_groups: u64,
    /// Bytes read from row groups.
    pub row_bytes: u64,
    /// All bytes read, including metadata.
    pub bytes_read: u64,
    /// Byte ranges read.
    pub ranges_read: u64,
}

impl IndexCounts {
    /// Iterates over `left_out` with the reasons.
    pub fn left_out(&self) -> impl Iterator<Item = (LeftOutRow, u64)> {
        LeftOutRow::ALL.into_iter().zip(self.left_out)
    }

    /// Iterates over `hostnames_refused` with the reasons.
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

    /// Returns true if every row is counted exactly once. This holds only after the reader has
    /// finished.
    pub fn add_up(&self) -> bool {
        let kept = self.captures + self.duplicates_removed + self.malformed + self.beyond_limit;
        self.rows == self.not_home_pages + self.home_pages && self.home_pages == kept
    }
}
