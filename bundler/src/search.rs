//! The search index: sorted hostnames, which the page looks up with two small requests.
//!
//! Defines the key by which a hostname is sorted and found (`key`), the lines of search files
//! (`lines`), a shard's part of the index (`part`), the published files of one range of hostnames
//! (`files`), the order of results (`answers`), the words by which ranked hosts are found
//! (`words`), the ranks (`ranks`), and the functions by which a takedown searches and updates a
//! range's index (`index`). Invariant: `site/js/search-keys.js`, `site/js/search-answers.js` and
//! `site/js/search-files.js` read these formats by the same rules. Does not depend on where the
//! files are kept.

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
