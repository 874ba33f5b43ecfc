//! A crawl's filters and list versions as of its start, which later changes do not affect.

use everytab_filters::{FilterSettings, check_filter_name};
use serde::{Deserialize, Serialize};

/// Maximum filters per crawl. A crawl with more is rejected, because each filter checks every link.
pub const MAX_FILTERS: usize = 8;

/// An imported list in the version that this crawl uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenList {
    /// List name.
    pub name: String,
    /// List version.
    pub version: i32,
    /// URL of the store that contains this list's object.
    pub store: String,
    /// Object name in this store.
    pub object: String,
    /// The object's SHA-256, in hexadecimal.
    pub sha256: String,
    /// Object length in bytes.
    pub bytes: u64,
}

/// A crawl's filter in the version that this crawl uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenFilter {
    /// Filter name.
    pub name: String,
    /// Filter version.
    pub version: i32,
    /// Filter settings.
    pub filter: FilterSettings,
    /// Lists that this filter names.
    pub lists: Vec<FrozenList>,
}

impl FrozenFilter {
    /// Checks this filter, including that all lists it names are in `lists`.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_filter_name(&self.name)?;
        self.filter.check().map_err(|error| error.to_string())?;
        let is_frozen = |name: &&str| self.lists.iter().any(|list| list.name == **name);
        match self.filter.list_names().iter().find(|name| !is_frozen(name)) {
            Some(name) => Err(format!("the list {name:?} has no version")),
            None => Ok(()),
        }
    }
}
