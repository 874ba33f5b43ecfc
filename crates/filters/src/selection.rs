//! A choice among values: all but some, or only some.
//!
//! Must not know: what the values mean.

use serde::{Deserialize, Serialize};

/// A choice: `{"keep": [...]}` keeps only these, `{"drop": [...]}` all but these. What is not known
/// is kept in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// Only these.
    Keep(Vec<String>),
    /// All but these.
    Drop(Vec<String>),
}

impl Selection {
    /// Returns the values.
    #[must_use]
    pub fn values(&self) -> &[String] {
        match self {
            Self::Keep(values) | Self::Drop(values) => values,
        }
    }

    /// Returns true if a value is to be dropped, given whether it is one of [`Self::values`].
    #[must_use]
    pub fn drops(&self, is_named: bool) -> bool {
        match self {
            Self::Keep(_) => !is_named,
            Self::Drop(_) => is_named,
        }
    }

    /// Returns true if only the values named are kept.
    #[must_use]
    pub fn is_keep(&self) -> bool {
        matches!(self, Self::Keep(_))
    }
}
