//! A crawl's filters as its settings store them, with the versions of their lists.
//!
//! A crawl uses its filters as of its start, even if they change or are deleted later. Each version
//! of a list has its own object. This module does not depend on where filters are stored.

use everytab_filters::{FilterSettings, check_filter_name};
use serde::{Deserialize, Serialize};

/// Maximum filters per crawl, because each one checks every link.
pub const MAX_FILTERS: usize = 8;

/// A version of an imported list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenList {
    /// The list's name.
    pub name: String,
    /// The list's version.
    pub version: i32,
    /// URL of the store that contains the list's object.
    pub store: String,
    /// Name of the list's object in the store.
    pub object: String,
    /// SHA-256 of the object, in hexadecimal.
    pub sha256: String,
    /// Length of the object in bytes.
    pub bytes: u64,
}

/// A filter of a crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenFilter {
    /// The filter's name.
    pub name: String,
    /// The filter's version.
    pub version: i32,
    /// The filter's settings.
    pub filter: FilterSettings,
    /// The lists that the filter names.
    pub lists: Vec<FrozenList>,
}

impl FrozenFilter {
    /// Checks the filter.
    ///
    /// # Errors
    /// Returns an error if the name or a setting is invalid, or if a list that the filter names is
    /// not in `lists`.
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
