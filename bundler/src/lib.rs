//! The published site's formats: bytes in, values out.
//!
//! This crate contains bundles (`bundle`, `published_bundle`, `layout`), the search index
//! (`search`), the `manifest`, the `map` with all icons, the map's orders (`map_order`), the
//! statistics (`stats_names`, `stats_document`, `common_icons`, `history`), the page itself
//! (`page_files`, `preview`), the pages for shared links (`link_page`), the operator's files
//! (`key_directory`, `security_txt`), the public request lists (`request_files`), all objects'
//! names and headers (`object_names`), the takedown list (`takedown_list`, `title_pattern`,
//! `removed_hosts`, `removed_tabs`), and the tabs' source icons (`icon_list`).
//! Everything is a pure function with the same result on every host. This does not depend on files,
//! stores, network, Postgres, clocks, settings, or how an icon is decoded.
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
//! // The search file says where the tab is; hostnames are sorted without `www.`.
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
