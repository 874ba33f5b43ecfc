//! The account of all rows that were read.

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
    /// Number of rows that passed the filter.
    pub home_pages: u64,
    /// Number of captures that were returned.
    pub captures: u64,
    /// Number of home pages for whose host a better capture was found.
    pub duplicates_removed: u64,
    /// Number of home pages with a null or invalid value in a needed column.
    pub malformed: u64,
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
    /// Returns true if every row is counted exactly once.
    pub fn add_up(&self) -> bool {
        let kept = self.captures + self.duplicates_removed + self.malformed + self.beyond_limit;
        self.rows == self.not_home_pages + self.home_pages && self.home_pages == kept
    }
}
