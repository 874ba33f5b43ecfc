//! Imported lists as objects: their format, building them, and searching them.
//!
//! This module does not depend on where an object is stored, or on how it is loaded into memory.

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
