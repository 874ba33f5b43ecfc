//! The search index: sorted hostnames, which the page looks up with two small requests.
//!
//! This defines the key by which a hostname is sorted and found (`key`), the lines in search files
//! (`lines`), a shard's part of the index (`part`), the published files for one hostname range
//! (`files`), the order of results (`answers`), the words by which ranked hosts are found
//! (`words`), the ranks (`ranks`), and how a takedown searches and updates a range's index
//! (`index`). Invariant: `site/js/search-keys.js`, `site/js/search-answers.js` and
//! `site/js/search-files.js` read these formats by the same rules. This does not depend on where
//! the files are stored.

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
