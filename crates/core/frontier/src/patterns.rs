//! Matches a crawl's include and exclude patterns, its filters' rules, and its priority words.
//!
//! A glob must match the whole string `host/path?query` in the key. `*` matches any characters,
//! including `/`. A glob without `/` matches hosts: `*.example.com`. A pattern that starts with
//! `re:` is a regular expression that may match anywhere in this string. A word may occur anywhere
//! in the key.
//!
//! A crawl's patterns are compiled into at most four tables, so that matching costs the same for
//! any patterns (docs/decisions/0069).

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

/// Maximum tables per crawl. With the worst known patterns, 5,000 URLs with 2,048 bytes each took
/// up to 76 ms with four tables.
const MAX_TABLES: usize = 4;

/// Maximum work for one table in visited states, about 10 ms. Typical patterns take a tenth of
/// this.
const MAX_STEPS: u64 = 2_000_000;

/// Maximum work for all of a crawl's patterns in visited states. This includes failed attempts.
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

    /// Returns the index of this filter's first matching rule.
    #[must_use]
    pub fn rule_of(&self, filter: usize) -> Option<usize> {
        self.0.first_of(FIRST_FILTER + filter)
    }

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
                // Try again with a full budget, because the remaining one may be too small for this
                // pattern alone.
                None if determinize(&nodes, at..at + 1, &mut { MAX_STEPS }).is_err() => {
                    return Err(failure(at, |number| PatternError::TooComplex { number }));
                }
                None => return Err(failure(at, |number| PatternError::TooLarge { number })),
            }
        }
        let (has_include, has_words) = (!lists.include.is_empty(), !lists.words.is_empty());
        Ok(Self { tables, has_include, has_words })
    }

    pub(crate) fn has_include(&self) -> bool {
        self.has_include
    }

    pub(crate) fn has_words(&self) -> bool {
        self.has_words
    }

    /// Returns the patterns and words that match a URL.
    #[must_use]
    pub fn matches(&self, url: &CanonicalUrl) -> UrlMatches {
        UrlMatches(search(&self.tables, url.key().as_bytes()))
    }

    /// Returns the approximate memory of the tables in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.tables.iter().map(Table::memory_bytes).sum()
    }
}

/// Builds a table from about as many patterns as fit, starting at `at`. Returns this table, and how
/// many patterns it has.
fn largest_table(nodes: &Nodes, at: usize, left: &mut u64) -> Option<(Table, usize)> {
    let all = nodes.patterns.len() - at;
    let mut best: Option<(Table, usize)> = None;
    let mut fit = 0;
    let mut over = all + 1;
    let mut tried = all;
    // Accept a table with up to a sixteenth fewer patterns than would fit, because this halves the
    // attempts.
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
