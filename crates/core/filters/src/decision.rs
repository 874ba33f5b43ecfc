//! A filter's decision, and the part of the filter that made it.

use std::fmt;

use everytab_frontier::RejectReason;
use serde::{Deserialize, Serialize};

use crate::countries::CountryCode;

/// Verdict about a URL or a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FilterVerdict {
    /// It is kept, and its links are followed.
    Keep,
    /// It is not fetched or not stored, and its links are not followed.
    Drop,
    /// It is kept, but its links to other pages are not followed.
    Nofollow,
}

impl FilterVerdict {
    /// Returns the name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Drop => "drop",
            Self::Nofollow => "nofollow",
        }
    }
}

/// Filter part that decided, with its position in the filter's JSON, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// A pattern: `rules[n]`.
    Rule(usize),
    /// A list with the mode drop, `lists[n]`, contains the URL.
    List(usize),
    /// No list with the mode keep contains the URL.
    NotListed,
    /// Country from the host's top-level domain.
    TopLevelDomain(CountryCode),
    /// Country from the server's address.
    Address(CountryCode),
    /// The content type.
    Type,
    /// The text's language, as an ISO 639-3 code.
    Language(&'static str),
    /// Total weight of the words found.
    Words(i64),
    /// The classifier.
    Classifier,
}

impl DecidedBy {
    /// Returns the value in the column `outcome` for a URL that this part rejects.
    #[must_use]
    pub const fn outcome(self) -> &'static str {
        match self {
            Self::Rule(_) => "filtered_rule",
            Self::List(_) | Self::NotListed => "filtered_list",
            Self::TopLevelDomain(_) | Self::Address(_) => "filtered_country",
            Self::Type => "filtered_type",
            Self::Language(_) => "filtered_language",
            Self::Words(_) => "filtered_words",
            Self::Classifier => "filtered_classifier",
        }
    }

    /// Every outcome that filters set.
    pub const OUTCOMES: [&'static str; 7] = [
        "filtered_rule",
        "filtered_list",
        "filtered_country",
        "filtered_type",
        "filtered_language",
        "filtered_words",
        "filtered_classifier",
    ];

    /// Returns the reason under which a link that this part rejects is counted.
    #[must_use]
    pub const fn reason(self) -> RejectReason {
        match self {
            Self::List(_) | Self::NotListed => RejectReason::FilterList,
            Self::TopLevelDomain(_) | Self::Address(_) => RejectReason::FilterCountry,
            _ => RejectReason::FilterRule,
        }
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(number) => write!(to, "rules[{number}]"),
            Self::List(number) => write!(to, "lists[{number}]"),
            Self::NotListed => write!(to, "lists: not in any list with mode keep"),
            Self::TopLevelDomain(country) => write!(to, "countries: top-level domain of {country}"),
            Self::Address(country) => write!(to, "countries: server address in {country}"),
            Self::Type => write!(to, "types"),
            Self::Language(code) => write!(to, "languages: {code}"),
            Self::Words(sum) => write!(to, "words: {sum}"),
            Self::Classifier => write!(to, "classifier"),
        }
    }
}

/// A decision and the filter part that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Verdict about this URL or page.
    pub verdict: FilterVerdict,
    /// Filter part that made this decision.
    pub by: DecidedBy,
}

impl Decision {
    pub(crate) const fn dropped(by: DecidedBy) -> Self {
        Self { verdict: FilterVerdict::Drop, by }
    }

    /// Returns true if this URL or page is dropped.
    #[must_use]
    pub fn is_drop(&self) -> bool {
        self.verdict == FilterVerdict::Drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decision_has_a_listed_outcome_and_a_filter_reason() {
        let outcomes = DecidedBy::OUTCOMES;
        assert_eq!(
            outcomes.join(" "),
            "filtered_rule filtered_list filtered_country filtered_type filtered_language \
             filtered_words filtered_classifier"
        );
        let country = CountryCode::parse("de").unwrap();
        for by in [
            DecidedBy::Rule(0),
            DecidedBy::List(1),
            DecidedBy::NotListed,
            DecidedBy::TopLevelDomain(country),
            DecidedBy::Address(country),
            DecidedBy::Type,
            DecidedBy::Language("deu"),
            DecidedBy::Words(7),
            DecidedBy::Classifier,
        ] {
            assert!(outcomes.contains(&by.outcome()), "{by}");
            assert!(by.reason().as_str().starts_with("filter_"), "{by}");
        }
    }
}
