//! Imported lists: their format, and how to build and search them.

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
