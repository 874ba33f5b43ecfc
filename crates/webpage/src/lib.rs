//! What a home page says: its charset, title, icon links and frameability; what a robots.txt
//! allows; which addresses and URLs are fit to be asked.
//!
//! Pure: bytes in, values out. It knows nothing of WARC, Postgres, sockets, files or clocks. No
//! input is an error: a broken page gives what it has, and what was cut is counted. Every
//! collection that a stranger's page can grow has a limit, named where it is used.
//!
//! Sources: the WHATWG HTML, Encoding, Fetch, URL and MIME Sniffing standards, CSP Level 3,
//! RFC 9309 and the special-purpose address registries of IANA.

pub mod address;
pub mod candidates;
pub mod cdn_ranges;
pub mod charset;
mod content_type;
pub mod data_url;
mod frame_ancestors;
pub mod framing;
mod head;
mod header_values;
pub mod icons;
mod markup;
#[cfg(test)]
mod markup_differential;
#[cfg(test)]
mod markup_oracle;
mod nesting;
pub mod page;
mod prescan;
pub mod robots;
pub mod sizes;
pub mod title;
mod tokens;
pub mod url_rules;

pub use address::{Guard, is_public};
pub use candidates::{Candidate, CandidateSource, Candidates, LeftOut, candidates};
pub use charset::{Charset, CharsetSource};
pub use framing::{Framing, Verdict, iframe_ok};
pub use icons::{IconClass, IconLink};
pub use page::{Page, understand};
pub use robots::Robots;
pub use title::{Title, TitleState, tab_title};
pub use url_rules::{Refusal, vet_url};
