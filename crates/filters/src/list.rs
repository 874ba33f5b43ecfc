//! Imported lists as objects: their format, building and asking them.
//!
//! Must not know: where an object is kept, how its bytes come into memory.

mod countries;
mod file_lines;
mod format;
mod names;

pub use self::{
    countries::{CountryRanges, CountryRangesBuilder},
    file_lines::{ListFileKind, MAX_LIST_LINE_BYTES},
    format::{FilterListError, ListBytes, ListKind, ListSection, list_kind},
    names::{MAX_LIST_ENTRIES, NameList, NameListBuilder, TooManyEntries, UrlNames},
};
