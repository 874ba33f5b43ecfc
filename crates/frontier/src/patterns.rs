//! Include and exclude patterns over host, path and query of a URL.
//!
//! A glob must match the whole text `host/path?query` of the key: `*` stands for any characters,
//! `/` too, and everything else for itself. A glob without `/` is of hosts: `*.example.com`. A
//! pattern that begins with `re:` is a regular expression that may match anywhere in that text. All
//! are matched in one pass, in time linear in the URL, whatever the pattern.
//!
//! Must not know: that exclude wins over include.

use regex::bytes::{RegexSet, RegexSetBuilder};

/// Greatest number of patterns of a list.
pub const MAX_PATTERNS: usize = 1_000;

/// Greatest length of a pattern in bytes.
pub const MAX_PATTERN_BYTES: usize = 1_024;

/// Greatest size of a compiled list in bytes, and of the table that matching fills. A repetition of
/// a repetition would take gigabytes.
const MAX_COMPILED_BYTES: usize = 8 << 20;

/// The reason why patterns are not acceptable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There are more than [`MAX_PATTERNS`].
    #[error("more than {MAX_PATTERNS} patterns")]
    TooMany,
    /// A pattern is empty or longer than [`MAX_PATTERN_BYTES`].
    #[error("pattern {number} is empty or longer than {MAX_PATTERN_BYTES} bytes")]
    Length {
        /// Position in the list, from 1.
        number: usize,
    },
    /// A glob begins with a scheme, which is no part of what it is compared with.
    #[error("pattern {number}: leave out the scheme, as in example.com/blog/*")]
    SchemeInGlob {
        /// Position in the list, from 1.
        number: usize,
    },
    /// The host of a glob has a character that no host of a URL has, such as one beyond ASCII.
    #[error("pattern {number}: a host is written in lower case and punycode")]
    HostInGlob {
        /// Position in the list, from 1.
        number: usize,
    },
    /// The regular expression is wrong, or uses what takes more than linear time.
    #[error("pattern {number}: {reason}")]
    Expression {
        /// Position in the list, from 1.
        number: usize,
        /// What is wrong, in one line.
        reason: String,
    },
    /// The patterns together are larger than [`MAX_COMPILED_BYTES`] when compiled.
    #[error("the patterns need more than {MAX_COMPILED_BYTES} bytes when compiled")]
    TooLarge,
}

/// A compiled list of patterns.
#[derive(Debug, Clone)]
pub struct UrlPatterns {
    set: RegexSet,
}

impl Default for UrlPatterns {
    fn default() -> Self {
        Self { set: RegexSet::empty() }
    }
}

impl UrlPatterns {
    /// Compiles a list.
    ///
    /// # Errors
    /// The first pattern that is wrong, or a list that is too large.
    pub fn compile(patterns: &[&str]) -> Result<Self, PatternError> {
        if patterns.len() > MAX_PATTERNS {
            return Err(PatternError::TooMany);
        }
        let mut expressions = Vec::with_capacity(patterns.len());
        for (index, pattern) in patterns.iter().enumerate() {
            let number = index + 1;
            if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES {
                return Err(PatternError::Length { number });
            }
            let expression = match pattern.strip_prefix("re:") {
                Some(expression) => {
                    // Compiled alone first, so that the error names the pattern.
                    if let Err(error) = build(&[expression]) {
                        return Err(PatternError::Expression { number, reason: reason(&error) });
                    }
                    (*expression).to_owned()
                }
                None => expression_of_glob(pattern, number)?,
            };
            expressions.push(expression);
        }
        let set = build(&expressions).map_err(|_| PatternError::TooLarge)?;
        Ok(Self { set })
    }

    /// Returns true if the list has no pattern.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Returns true if a pattern matches a key without its scheme, such as `example.com/a?b`.
    #[must_use]
    pub fn matches(&self, host_path_query: &str) -> bool {
        self.set.is_match(host_path_query.as_bytes())
    }

    /// Returns the position of the first pattern that matches, from 0.
    #[must_use]
    pub fn first_match(&self, host_path_query: &str) -> Option<usize> {
        self.set.matches(host_path_query.as_bytes()).iter().next()
    }
}

fn build<S: AsRef<str>>(expressions: &[S]) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(expressions)
        .unicode(false)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .build()
}

/// The last line of the message of the regex crate, which says what is wrong; the others draw
/// where.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// Returns the regular expression of a glob.
fn expression_of_glob(glob: &str, number: usize) -> Result<String, PatternError> {
    if glob.contains("://") && !glob.split('/').next().unwrap_or_default().contains('*') {
        return Err(PatternError::SchemeInGlob { number });
    }
    let (host, path) = match glob.find('/') {
        Some(slash) => glob.split_at(slash),
        None => (glob, ""),
    };
    let is_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.*[]:".contains(&byte);
    if !host.bytes().all(is_host) {
        return Err(PatternError::HostInGlob { number });
    }
    let mut expression = String::from("^(?s:");
    // A path as keys have it: characters beyond ASCII are encoded.
    let encoded: String =
        path.bytes()
            .map(|byte| {
                if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            })
            .collect();
    for (index, literal) in format!("{host}{encoded}").split('*').enumerate() {
        if index > 0 {
            expression.push_str(".*");
        }
        expression.push_str(&regex::escape(literal));
    }
    expression.push_str(if path.is_empty() { "(:[0-9]+)?/.*)$" } else { ")$" });
    Ok(expression)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn globs_match_the_whole_of_host_and_path() {
        let cases = [
            ("example.com/blog/*", "example.com/blog/a/b?c", true),
            ("example.com/blog/*", "www.example.com/blog/a", false),
            ("example.com/blog/*", "example.com/blog", false),
            ("example.com", "example.com/any", true),
            ("example.com", "example.com:8080/any", true),
            ("example.com", "example.com.evil.example/any", false),
            ("*.example.com", "www.example.com/", true),
            ("*.example.com", "example.com/", false),
            ("*/private/*", "a.example/x/private/y", true),
            ("*/a?b=*", "a.example/a?b=1", true),
            ("*/a?b=*", "a.example/axb=1", false),
            ("*/ü", "a.example/%C3%BC", true),
            ("*/(a", "a.example/(a", true),
            ("*.pdf", "a.example/x.pdf", false),
            ("*/*.pdf", "a.example/x.pdf", true),
        ];
        for (glob, text, expected) in cases {
            let patterns = UrlPatterns::compile(&[glob]).unwrap();
            assert_eq!(patterns.matches(text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn expressions_match_anywhere_and_the_first_match_is_named() {
        let patterns = UrlPatterns::compile(&["*/x", r"re:/\d{4}/", "re:(?i)ARCHIVE"]).unwrap();
        assert_eq!(patterns.first_match("a.example/2026/archive"), Some(1));
        assert_eq!(patterns.first_match("a.example/archive"), Some(2));
        assert_eq!(patterns.first_match("a.example/"), None);
        assert!(!UrlPatterns::default().matches("a.example/"));
        assert!(UrlPatterns::default().is_empty() && !patterns.is_empty());
    }

    #[test]
    fn bad_patterns_are_errors_that_name_them() {
        let error = |pattern: &str| UrlPatterns::compile(&["a", pattern]).unwrap_err();
        assert_eq!(error(""), PatternError::Length { number: 2 });
        assert_eq!(error(&"x".repeat(1_025)), PatternError::Length { number: 2 });
        assert_eq!(error("https://a.example/*"), PatternError::SchemeInGlob { number: 2 });
        assert_eq!(error("bücher.example/*"), PatternError::HostInGlob { number: 2 });
        assert_eq!(error("A.example/*"), PatternError::HostInGlob { number: 2 });
        let text = error("re:(a").to_string();
        assert_eq!(text, "pattern 2: unclosed group");
        assert!(error(r"re:(a)\1").to_string().contains("backreferences are not supported"));
        assert!(matches!(error("re:((a{99}){99}){99}"), PatternError::Expression { .. }));
        assert_eq!(UrlPatterns::compile(&["a"; 1_001]).err(), Some(PatternError::TooMany));
        let large = ["re:[a-z]{900}[0-9]{90}"; 1_000];
        assert_eq!(UrlPatterns::compile(&large).err(), Some(PatternError::TooLarge));
    }

    #[test]
    fn a_pattern_that_backtracks_elsewhere_takes_linear_time() {
        let patterns =
            UrlPatterns::compile(&["re:^a.example/(x+x+)+y$", "*x*x*x*x*x*x*x*y"]).unwrap();
        assert!(!patterns.matches(&format!("a.example/{}", "x".repeat(2_000))));
    }

    proptest! {
        #[test]
        fn any_pattern_compiles_or_is_an_error(
            pattern in "(re:)?\\PC{0,20}", text in "\\PC{0,20}",
        ) {
            if let Ok(patterns) = UrlPatterns::compile(&[&pattern]) {
                prop_assert_eq!(patterns.matches(&text), patterns.first_match(&text).is_some());
            }
        }
    }
}
