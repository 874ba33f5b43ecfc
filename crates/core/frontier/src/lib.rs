//! A live crawl's frontier: the known URLs, the due URLs, and their order. Every function is pure,
//! and no input causes a panic.
//!
//! Sources: the WHATWG URL Standard, RFC 3986 section 6.2.2, the Public Suffix List.

mod budget;
mod canonical;
mod chunk;
mod found;
mod found_sitemaps;
mod host_domains;
mod link;
mod novelty;
mod origin;
mod outgoing_links;
mod parameters;
mod patterns;
mod percent;
mod priority;
mod reject_reason;
mod rules;
mod scope;
mod seen_hashes;
mod shape;
mod shape_counts;
mod shape_debts;
mod site;
mod state;
mod suffixes;
mod trap;

pub use budget::{DEFAULT_TRAP_PAGES, MAX_TRAP_PAGES, SiteBudget, SiteUsage};
pub use canonical::{CanonicalUrl, MAX_URL_BYTES, UrlError, UrlHash, hostname, is_home_page};
pub use chunk::{
    ChunkError, ChunkKind, MAX_LINKS_PER_CHUNK, UnpackedLinks, kind_of_chunk, pack_links,
    unpack_links,
};
pub use found::{FoundLinks, MAX_LINKS_PER_PAGE, Referrer};
pub use found_sitemaps::SitemapLinks;
pub use host_domains::{DomainLists, ListedDomains};
pub use link::{Attributes, Link, LinkFlags, MAX_HOPS};
pub use origin::Origin;
pub use outgoing_links::{OutgoingLink, OutgoingLinks, PackedLinks};
pub use parameters::{ParameterError, ParameterList};
pub use patterns::{
    MAX_FILTER_LISTS, MAX_PATTERN_BYTES, MAX_PATTERNS, PatternError, PatternListError,
    PatternLists, UrlMatches, UrlPatternList, UrlPatterns,
};
pub use priority::{MAX_PRIORITY, PriorityError, PriorityWords};
pub use reject_reason::{RejectCounts, RejectReason};
pub use rules::{LinkFilter, MAX_DEPTH, Rules, RulesError};
pub use scope::{Scope, ScopeError, SiteSet};
pub use shape::shape_hash;
pub use shape_debts::PageSays;
pub use site::{SLOTS, site_hash, slot_of_site};
pub use state::{
    FinalState, FinishEffect, HostState, MAX_KNOWN_PER_HOST, MAX_PENDING_BYTES, MAX_RETRIES,
    MergeOutcome, Merged, Packed, PendingUrl, StateChanges, Sums, Unpacked, never_paused,
};
pub use suffixes::{DEFAULT_SUFFIX_LIST, SuffixError, SuffixList};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
