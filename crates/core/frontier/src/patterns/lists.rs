//! A crawl's patterns and words as written, and their errors.
//!
//! Does not depend on how they are compiled.

use super::table::MAX_LISTS;

/// Maximum patterns in a list.
pub const MAX_PATTERNS: usize = 1_000;

/// Maximum length of a pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1_024;

/// Maximum number of words, one bit each.
pub(crate) const MAX_WORDS: usize = 64;

/// Maximum number of filters with rules.
pub const MAX_FILTER_LISTS: usize = MAX_LISTS - FIRST_FILTER;

/// Each list's index.
pub(super) const EXCLUDE: usize = 0;
pub(super) const INCLUDE: usize = 1;
pub(super) const FIRST_FILTER: usize = 2;

/// The reason why patterns are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A list has more than [`MAX_PATTERNS`] patterns.
    #[error("more than {MAX_PATTERNS} patterns")]
    TooMany,
    /// A pattern is empty or longer than [`MAX_PATTERN_BYTES`].
    #[error("pattern {number} is empty or longer than {MAX_PATTERN_BYTES} bytes")]
    Length {
        /// Position in the list, from 1.
        number: usize,
    },
    /// The glob starts with a scheme, which is not part of the string that it must match.
    #[error("pattern {number}: leave out the scheme, as in example.com/blog/*")]
    SchemeInGlob {
        /// Position in the list, from 1.
        number: usize,
    },
    /// The host in a glob has a character that URLs do not have in hosts, such as one beyond ASCII.
    #[error("pattern {number}: a host is written in lower case and punycode")]
    HostInGlob {
        /// Position in the list, from 1.
        number: usize,
    },
    /// The regular expression is malformed, or uses a feature without linear run time.
    #[error("pattern {number}: {reason}")]
    Expression {
        /// Position in the list, from 1.
        number: usize,
        /// The error, in one line.
        reason: String,
    },
    /// The pattern alone does not fit into a table.
    #[error(
        "pattern {number} is too complex: shorten its repetitions, such as .{{100}}, and the \
         optional parts before them, or use a glob"
    )]
    TooComplex {
        /// Position in the list, from 1.
        number: usize,
    },
    /// The patterns together need more than four tables.
    #[error(
        "the patterns are too complex together from pattern {number} on: all patterns of a crawl \
         (include, exclude, filter rules and priority words) must fit; use fewer, start globs \
         with their host instead of `*`, or import hosts as a filter list"
    )]
    TooLarge {
        /// Position in the list, from 1.
        number: usize,
    },
}

impl PatternError {
    /// Returns true if the pattern is well-formed but costs more than a crawl may.
    #[must_use]
    pub fn is_of_cost(&self) -> bool {
        matches!(self, Self::TooComplex { .. } | Self::TooLarge { .. })
    }
}

/// A pattern's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlPatternList {
    /// [`PatternLists::exclude`].
    Exclude,
    /// [`PatternLists::include`].
    Include,
    /// The list at this position in [`PatternLists::filters`].
    Filter(usize),
    /// [`PatternLists::words`].
    Words,
}

/// An invalid pattern, with its list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct PatternListError {
    /// The list.
    pub list: UrlPatternList,
    /// The error.
    pub error: PatternError,
}

/// A crawl's patterns and words, as written.
#[derive(Debug, Clone, Default)]
pub struct PatternLists<'a> {
    /// Patterns that must not match.
    pub exclude: Vec<&'a str>,
    /// If there are include patterns, at least one must match.
    pub include: Vec<&'a str>,
    /// Each filter's rules. The first that matches decides.
    pub filters: Vec<Vec<&'a str>>,
    /// Words in lower case, at most [`MAX_WORDS`].
    pub words: Vec<&'a str>,
}
