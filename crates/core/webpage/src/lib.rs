//! Parses pages, robots.txt and sitemaps, and decides which URLs and addresses may be requested.
//! Every function is pure. A broken page yields its readable parts, never an error.
//!
//! Sources: the WHATWG HTML, Encoding, Fetch, URL and MIME Sniffing standards, CSP Level 3, RFC
//! 9309 and IANA's special-purpose address registries.

pub mod address;
mod ascii_art;
mod body_limits;
pub mod candidates;
pub mod cdn_ranges;
pub mod charset;
mod content_type;
mod content_types;
pub mod data_url;
mod frame_ancestors;
pub mod framing;
mod head;
mod header_values;
pub mod icons;
pub mod links;
mod markup;
pub mod media;
pub mod meta_robots;
mod nesting;
pub mod page;
pub mod ports;
mod prescan;
mod refresh;
pub mod robots;
mod said;
mod simple_html;
pub mod sitemap;
pub mod sizes;
mod srcset;
pub mod text;
pub mod title;
mod tokens;
pub mod url_rules;

pub use address::{Guard, is_public};
pub use body_limits::{DEFAULT_MEDIA_BYTES, DEFAULT_PAGE_BYTES, MAX_MEDIA_BYTES, MAX_PAGE_BYTES};
pub use candidates::{Candidate, CandidateSource, Candidates, LeftOut, candidates};
pub use charset::{Charset, CharsetSource};
pub use content_types::{ContentTypes, UnknownContentType, is_token};
pub use framing::{Framing, Verdict, iframe_ok};
pub use icons::{IconClass, IconLink};
pub use links::{LinkKind, LinkOrigin, LinkRequest, PageLink, PageLinks};
pub use meta_robots::RobotsDirectives;
pub use page::{
    Page, understand, understand_with_links, understand_with_links_and_text, understand_with_text,
};
pub use ports::{MAX_PORTS, PortList, PortListError, is_bad_port};
pub use robots::{CrawlDelay, RobotsGroup, RobotsTxt};
pub use said::{MAX_LINES_SAID, lines_said};
pub use simple_html::{SimpleHtml, simplify};
pub use sitemap::{MAX_SITEMAP_ENTRIES, Sitemap, SitemapFormat, read_sitemap};
pub use text::{PageText, TextRequest, plain_text};
pub use title::{Title, TitleState, tab_title};
pub use url_rules::{Refusal, vet_url};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
