//! The search index: sorted hostnames, which the page looks up with two small requests.
//!
//! The modules define:
//!
//! * `key`: the key by which a hostname is sorted and found
//! * `lines`: the lines in search files
//! * `part`: a shard's part of the index
//! * `files`: the published files for one hostname range
//! * `answers`: the order of results
//! * `words`: the words by which ranked hosts are found
//! * `ranks`: the hosts' ranks
//! * `index`: how a takedown searches and updates a range's index
//!
//! `site/js/search-keys.js`, `site/js/search-answers.js` and `site/js/search-files.js` must read
//! these formats by equal rules. This module does not depend on where the files are stored.

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
