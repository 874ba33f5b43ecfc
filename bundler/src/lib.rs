//! The published site's formats, as pure functions.
//!
//! ```
//! use everytab_bundler::{
//!     bundle::{self, Tab},
//!     object_names,
//!     search::{SearchEntry, range_of, write_lines},
//! };
//!
//! let url = "https://www.example.com".to_owned();
//! let tab = Tab { url, title: "Example".to_owned(), icon: None, iframe_ok: true };
//! let json = concat!(
//!     r#"{"entries":[{"url":"https://www.example.com","title":"Example","#,
//!     r#""icon":"","iframe_ok":true}]}"#,
//! );
//! assert_eq!(bundle::write(&[tab]), json.as_bytes());
//! assert_eq!(object_names::bundle_path(0), "tabs/0.json");
//!
//! // Hostnames are assigned to search files without their `www.`.
//! let entry = SearchEntry::new("www.example.com".into(), 0, 0);
//! let path = object_names::search_file_path(range_of(&entry.hostname), 0);
//! assert_eq!(path, "search/5/0.tsv");
//! assert_eq!(write_lines(&[entry]), "www.example.com\t0\t0\n");
//! ```

pub mod bundle;
mod bundle_json;
pub mod common_icons;
pub mod history;
pub mod icon_list;
pub mod key_directory;
pub mod layout;
pub mod link_page;
pub mod manifest;
pub mod map;
pub mod map_order;
pub mod object_names;
pub mod page_files;
pub mod preview;
pub mod published_bundle;
pub mod removed_hosts;
pub mod removed_tabs;
pub mod request_files;
pub mod search;
pub mod security_txt;
pub mod stats_document;
pub mod stats_names;
mod stroke_letters;
pub mod takedown_list;
pub mod title_pattern;

pub use manifest::{Loss, MAX_LOSS_PERCENT, Manifest, ManifestError, ReplaceRefusal, SearchKinds};
pub use published_bundle::PublishedBundle;
