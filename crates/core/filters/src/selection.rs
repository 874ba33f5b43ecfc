//! A selection among values: all except some, or only some.
//!
//! This module does not depend on what the values mean.

use serde::{Deserialize, Serialize};

/// A selection: `{"keep": [...]}` keeps only these values, `{"drop": [...]}` all others. Unknown
/// values are kept in both cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// Only these values.
    Keep(Vec<String>),
    /// All values except these.
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

    /// Returns true if a value must be dropped, given whether it is one of [`Self::values`].
    #[must_use]
    pub fn drops(&self, is_named: bool) -> bool {
        match self {
            Self::Keep(_) => !is_named,
            Self::Drop(_) => is_named,
        }
    }

    /// Returns true if only the given values are kept.
    #[must_use]
    pub fn is_keep(&self) -> bool {
        matches!(self, Self::Keep(_))
    }
}
