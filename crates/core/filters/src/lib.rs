//! A live crawl's filters: which URLs are fetched, and which pages are stored.
//!
//! [`FilterSettings`] are a filter's JSON, a [`Filter`] is its compiled form, and a [`FilterSet`]
//! has all a crawl's filters. A URL is decided before it becomes pending
//! ([`FilterSet::decide_url`]), and a page after its fetch ([`FilterSet::decide_content`]). Each
//! decision names the part of the filter that made it. Imported lists are objects with sorted
//! hashes or address ranges ([`NameList`], [`CountryRanges`]), which the caller reads or maps.
//!
//! Every function is pure. Any input gives a result or an error, never a panic. This crate does not
//! depend on Postgres, sockets, files, clocks, where a list is stored, or how a page is parsed.
//!
//! Sources: the layout of the lists of the University of Toulouse (UT1), hosts(5), and "RIR
//! Statistics Exchange Format" of the regional internet registries.

mod classifier;
mod content;
mod countries;
mod decision;
mod filter;
mod filter_set;
mod languages;
mod list;
mod selection;
mod settings;
mod words;

pub use classifier::{
    ClassifierError, ClassifierRequest, ClassifierResponse, MAX_ANSWER_BYTES,
    MAX_QUESTION_TEXT_BYTES,
};
pub use content::PageContent;
pub use countries::{CountryCode, country_of_host};
pub use decision::{DecidedBy, Decision, FilterVerdict};
pub use filter::{Filter, LoadedList};
pub use filter_set::{FilterSet, TestedUrl};
pub use languages::{LANGUAGE_SAMPLE_BYTES, language_of};
pub use list::{
    CountryRanges, CountryRangesBuilder, FilterListError, ListBytes, ListFileKind, ListKind,
    ListSection, MAX_LIST_ENTRIES, MAX_LIST_LINE_BYTES, NameList, NameListBuilder, TooManyEntries,
    UrlNames, list_kind,
};
pub use selection::Selection;
pub use settings::{
    ClassifierSettings, CountrySettings, FilterError, FilterSettings, ListMode, ListSettings,
    MAX_FILTER_BYTES, RuleSettings, WordPlace, WordSettings, check_filter_name,
};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
