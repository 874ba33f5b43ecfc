//! A live crawl's filters: which URLs are fetched, and which pages are stored. Every function is
//! pure.
//!
//! Sources: the University of Toulouse's lists (UT1), hosts(5), and "RIR Statistics Exchange
//! Format" of the regional internet registries.

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
