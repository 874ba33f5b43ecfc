//! Matches a crawl's include and exclude patterns, the rules of its filters, and its priority
//! words.
//!
//! A glob must match the whole string `host/path?query` of the key. `*` matches any characters,
//! including `/`, and any other character matches itself. A glob without `/` matches hosts:
//! `*.example.com`. A pattern that starts with `re:` is a regular expression that may match
//! anywhere in this string. A word may occur anywhere in the key, including its scheme, and is not
//! case-sensitive.
//!
//! All patterns of a crawl are compiled into at most four tables, so matching takes a few loads per
//! byte of a URL for any patterns. Patterns that do not fit are rejected when they are submitted.
//! An engine that accepts every pattern can take an hour for the URLs of one page
//! (docs/decisions/0069). This module does not depend on which list takes precedence.

mod determinize;
mod lists;
mod nodes;
mod syntax;
mod table;

pub(crate) use self::lists::MAX_WORDS;
pub use self::lists::{
    MAX_FILTER_LISTS, MAX_PATTERN_BYTES, MAX_PATTERNS, PatternError, PatternListError,
    PatternLists, UrlPatternList,
};
use self::{
    determinize::{TooLarge, determinize},
    lists::{EXCLUDE, FIRST_FILTER, INCLUDE},
    nodes::Nodes,
    syntax::nodes_of,
    table::{Found, Table, search},
};
use crate::canonical::CanonicalUrl;

/// Maximum tables per crawl. We measured 5,000 URLs with 2,048 bytes each and the worst known
/// patterns on one of two busy cores: 46 ms with three tables, 57 to 76 ms with four, and 94 ms
/// with five.
const MAX_TABLES: usize = 4;

/// Maximum work for building one table, in visited states: about 10 ms. Tables for typical patterns
/// take a tenth of this.
const MAX_STEPS: u64 = 2_000_000;

/// Maximum work for all patterns of a crawl, in visited states. It is eight times the limit for one
/// table, because failed attempts count, too.
const MAX_ALL_STEPS: u64 = 16_000_000;

const _: () = assert!(MAX_STEPS < MAX_ALL_STEPS && MAX_PATTERNS < i16::MAX as usize);

/// A crawl's compiled patterns and words.
#[derive(Debug, Clone, Default)]
pub struct UrlPatterns {
    tables: Vec<Table>,
    has_include: bool,
    has_words: bool,
}

/// The patterns and words that match a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UrlMatches(Found);

impl UrlMatches {
    /// Returns true if an exclude pattern matches.
    #[must_use]
    pub fn is_excluded(&self) -> bool {
        self.0.first_of(EXCLUDE).is_some()
    }

    /// Returns true if an include pattern matches.
    #[must_use]
    pub fn is_included(&self) -> bool {
        self.0.first_of(INCLUDE).is_some()
    }

    /// Returns the index of a filter's first matching rule. `None` if no rule matches.
    #[must_use]
    pub fn rule_of(&self, filter: usize) -> Option<usize> {
        self.0.first_of(FIRST_FILTER + filter)
    }

    /// Returns the words that the URL contains, one bit each.
    pub(crate) fn words(&self) -> u64 {
        self.0.words
    }
}

impl UrlPatterns {
    /// Compiles a crawl's patterns.
    ///
    /// # Errors
    /// Returns an error for the first pattern that is malformed or too expensive, or for a list
    /// with too many patterns.
    pub fn compile(lists: &PatternLists<'_>) -> Result<Self, PatternListError> {
        let (nodes, places) = nodes_of(lists)?;
        let failure = |at: usize, error: fn(usize) -> PatternError| {
            let (list, number) = places.get(at).copied().unwrap_or((UrlPatternList::Exclude, 1));
            PatternListError { list, error: error(number) }
        };
        let mut tables = Vec::new();
        let mut left = MAX_ALL_STEPS;
        let mut at = 0;
        while at < places.len() {
            let fits = tables.len() < MAX_TABLES;
            match largest_table(&nodes, at, &mut left).filter(|_| fits) {
                Some((table, number)) => {
                    tables.push(table);
                    at += number;
                }
                // Try again with a full budget, because the rest of the budget for all patterns may
                // be less than this pattern alone needs.
                None if determinize(&nodes, at..at + 1, &mut { MAX_STEPS }).is_err() => {
                    return Err(failure(at, |number| PatternError::TooComplex { number }));
                }
                None => return Err(failure(at, |number| PatternError::TooLarge { number })),
            }
        }
        let (has_include, has_words) = (!lists.include.is_empty(), !lists.words.is_empty());
        Ok(Self { tables, has_include, has_words })
    }

    /// Returns true if there are include patterns, so only matching URLs are followed.
    pub(crate) fn has_include(&self) -> bool {
        self.has_include
    }

    /// Returns true if there are words.
    pub(crate) fn has_words(&self) -> bool {
        self.has_words
    }

    /// Returns the patterns and words that match a URL.
    #[must_use]
    pub fn matches(&self, url: &CanonicalUrl) -> UrlMatches {
        UrlMatches(search(&self.tables, url.key().as_bytes()))
    }

    /// Returns the approximate memory of the tables, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.tables.iter().map(Table::memory_bytes).sum()
    }
}

/// Builds a table from about as many patterns as fit, starting with the pattern `at`. Returns the
/// table with the number of its patterns. `None` if not even one pattern fits.
fn largest_table(nodes: &Nodes, at: usize, left: &mut u64) -> Option<(Table, usize)> {
    let all = nodes.patterns.len() - at;
    let mut best: Option<(Table, usize)> = None;
    let mut fit = 0;
    let mut over = all + 1;
    let mut tried = all;
    // Accept a table with up to a sixteenth fewer patterns than would fit, because this halves the
    // number of attempts.
    while over - fit > 1 + fit / 16 {
        let given = MAX_STEPS.min(*left);
        let mut steps = given;
        match determinize(nodes, at..at + tried, &mut steps) {
            Ok(table) => {
                fit = tried;
                best = Some((table, tried));
            }
            Err(TooLarge) => over = tried,
        }
        *left -= given - steps;
        tried = fit + (over - fit) / 2;
    }
    best
}

#[cfg(test)]
mod tests;
