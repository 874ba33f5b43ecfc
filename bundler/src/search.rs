//! The search index: sorted hostnames, which the page looks up with two small requests.
//! `site/js/search-files.js` must read these formats by the same rules.

pub mod answers;
pub mod files;
pub mod index;
pub mod key;
pub mod lines;
pub mod part;
pub mod ranks;
pub mod words;

pub use key::{RANGES, range_of, search_key};
pub use lines::{SearchEntry, SearchFileError, read_lines, sort, write_lines};
