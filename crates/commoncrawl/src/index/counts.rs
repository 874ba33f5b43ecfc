//! The account of all rows that were read.

use crate::hostname::HostnameError;

/// The reason why a row that is otherwise a home page does not pass the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutRow {
    /// The media type is `application/xhtml+xml`.
    Xhtml,
    /// The media type is null, empty or `unk`, as Common Crawl writes where there was none.
    UnknownMediaType,
    /// The media type is another one than HTML.
    OtherMediaType,
    /// The URL ends in `/?`: its query is empty, but not null.
    EmptyQuery,
    /// The URL has no path.
    EmptyPath,
}

impl LeftOutRow {
    /// Every reason, in the order in which [`IndexCounts::left_out`] counts them.
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

/// What became of the rows that were read.
///
/// `rows = not_home_pages + home_pages`, and
/// `home_pages = captures + duplicates_removed + malformed + beyond_limit`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct IndexCounts {
    /// Number of rows that were read. With a limit these are not all rows of the file.
    pub rows: u64,
    /// Number of rows that did not pass the filter.
    pub not_home_pages: u64,
    /// Number of rows of `not_home_pages` that one condition alone kept out, in the order of
    /// [`LeftOutRow::ALL`]. A row that several kept out is counted at the first of them.
    pub left_out: [u64; LeftOutRow::ALL.len()],
    /// Number of rows that passed the filter.
    pub home_pages: u64,
    /// Number of captures that were returned.
    pub captures: u64,
    /// Number of home pages for whose host a better capture was found.
    pub duplicates_removed: u64,
    /// Number of home pages with a null or invalid value in a needed column.
    pub malformed: u64,
    /// Number of rows of `malformed` whose hostname was refused, in the order of
    /// [`HostnameError::ALL`].
    pub hostnames_refused: [u64; HostnameError::ALL.len()],
    /// Number of home pages that were dropped because the limit was reached.
    pub beyond_limit: u64,
    /// Number of row groups of which rows were read.
    pub row_groups_read: u64,
    /// Number of row groups in the file.
    pub row_groups: u64,
    /// Number of bytes that were read without those of the metadata.
    pub row_bytes: u64,
    /// Number of bytes that were read.
    pub bytes_read: u64,
    /// Number of byte ranges that were read.
    pub ranges_read: u64,
}

impl IndexCounts {
    /// Iterates over the rows that one condition kept out, by reason.
    pub fn left_out(&self) -> impl Iterator<Item = (LeftOutRow, u64)> {
        LeftOutRow::ALL.into_iter().zip(self.left_out)
    }

    /// Iterates over the refused hostnames, by reason.
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

    /// Returns true if every row is counted exactly once.
    pub fn add_up(&self) -> bool {
        let kept = self.captures + self.duplicates_removed + self.malformed + self.beyond_limit;
        self.rows == self.not_home_pages + self.home_pages && self.home_pages == kept
    }
}
