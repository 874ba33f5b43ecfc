//! A crawl's patterns and words as the user wrote them, and their errors.

use super::table::MAX_LISTS;

/// Maximum patterns in a list. A longer list is rejected.
pub const MAX_PATTERNS: usize = 1_000;

/// Maximum pattern length in bytes.
pub const MAX_PATTERN_BYTES: usize = 1_024;

/// Maximum words, because each has one bit.
pub(crate) const MAX_WORDS: usize = 64;

/// Maximum filters per crawl.
pub const MAX_FILTER_LISTS: usize = MAX_LISTS - FIRST_FILTER;

/// Index of each list.
pub(super) const EXCLUDE: usize = 0;
pub(super) const INCLUDE: usize = 1;
pub(super) const FIRST_FILTER: usize = 2;

/// Why patterns are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A list has more than [`MAX_PATTERNS`] patterns.
    #[error("more than {MAX_PATTERNS} patterns")]
    TooMany,
    /// This pattern is empty or longer than [`MAX_PATTERN_BYTES`].
    #[error("pattern {number} is empty or longer than {MAX_PATTERN_BYTES} bytes")]
    Length {
        /// Position in the list, from 1.
        number: usize,
    },
    /// This glob starts with a scheme, which is not part of the string to match.
    #[error("pattern {number}: leave out the scheme, as in example.com/blog/*")]
    SchemeInGlob {
        /// Position in the list, from 1.
        number: usize,
    },
    /// The glob's host has a character that cannot occur in a URL's host.
    #[error("pattern {number}: the host must be in lower case and punycode")]
    HostInGlob {
        /// Position in the list, from 1.
        number: usize,
    },
    /// This regular expression is malformed, or cannot be matched in linear time.
    #[error("pattern {number}: {reason}")]
    Expression {
        /// Position in the list, from 1.
        number: usize,
        /// The parser's message, in one line.
        reason: String,
    },
    /// This pattern does not fit into a table, even alone.
    #[error(
        "pattern {number} is too complex: shorten its repetitions, such as .{{100}}, and the \
         optional parts before them, or use a glob"
    )]
    TooComplex {
        /// Position in the list, from 1.
        number: usize,
    },
    /// The crawl's patterns need more than four tables, or too many states or too much work.
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
    /// Returns true if this pattern is valid but exceeds a cost limit.
    #[must_use]
    pub fn is_of_cost(&self) -> bool {
        matches!(self, Self::TooComplex { .. } | Self::TooLarge { .. })
    }
}

/// Which list contains a pattern.
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

/// An invalid pattern and its list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct PatternListError {
    /// The list.
    pub list: UrlPatternList,
    /// The error.
    pub error: PatternError,
}

/// A crawl's patterns and words, as the user wrote them.
#[derive(Debug, Clone, Default)]
pub struct PatternLists<'a> {
    /// Exclude patterns. A URL must match none of them.
    pub exclude: Vec<&'a str>,
    /// Include patterns. If there are any, at least one must match.
    pub include: Vec<&'a str>,
    /// Each filter's rules. The first matching rule decides.
    pub filters: Vec<Vec<&'a str>>,
    /// Words in lower case, at most [`MAX_WORDS`].
    pub words: Vec<&'a str>,
}
