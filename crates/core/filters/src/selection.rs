//! Selected values: all except some, or only some.

use serde::{Deserialize, Serialize};

/// `{"keep": [...]}` keeps only these values, `{"drop": [...]}` all others. Unknown values are kept
/// in both cases.
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

    /// Returns true if a value must be dropped. `is_named` is true if this value is in
    /// [`Self::values`].
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
