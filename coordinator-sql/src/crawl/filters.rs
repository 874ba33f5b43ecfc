//! Operators' calls for live crawls' filters and imported lists.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{client::sql_calls::sql_calls, connection::row::from_row, error::Error};

/// The owner name for filters that operators write.
pub const OPERATOR: &str = "operator";

/// A stored filter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredFilter {
    /// The filter's id, which is identical in all versions.
    pub id: Uuid,
    /// The filter's owner: `operator`, or `key:` followed by a key's id.
    pub owner: String,
    /// The filter's name, unique per owner.
    pub name: String,
    /// How often the filter was written.
    pub version: i32,
    /// The filter as JSON.
    pub body: Value,
    /// Last change time.
    pub changed_at: DateTime<Utc>,
}

from_row!(StoredFilter { id, owner, name, version, body, changed_at });

/// A list to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFilterList {
    /// The list's name.
    pub name: String,
    /// The kind of entries: `names` or `countries`.
    pub kind: String,
    /// The object's store URL.
    pub store: String,
    /// The object's name.
    pub object: String,
    /// SHA-256 of the object.
    pub sha256: Vec<u8>,
    /// Number of names or address ranges in the list.
    pub entries: i64,
    /// Object size, in bytes.
    pub bytes: i64,
    /// Number of names by category, or of address ranges as `ranges`.
    pub categories: Value,
    /// Where the list was imported from.
    pub source: String,
}

/// The newest version of an imported list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFilterList {
    /// The list's name.
    pub name: String,
    /// Number of imports that changed the list.
    pub version: i32,
    /// The kind of entries: `names` or `countries`.
    pub kind: String,
    /// The object's store URL.
    pub store: String,
    /// The object's name.
    pub object: String,
    /// SHA-256 of the object.
    pub sha256: Vec<u8>,
    /// Number of names or address ranges in the list.
    pub entries: i64,
    /// Object size, in bytes.
    pub bytes: i64,
    /// Number of names by category, or of address ranges as `ranges`.
    pub categories: Value,
    /// Where the list was imported from.
    pub source: String,
    /// Import time.
    pub imported_at: DateTime<Utc>,
}

from_row!(StoredFilterList {
    name,
    version,
    kind,
    store,
    object,
    sha256,
    entries,
    bytes,
    categories,
    source,
    imported_at
});

sql_calls! {
    /// Records an imported list, and returns its version, which increases only if the contents have
    /// changed.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects a value.
    pub async fn add_filter_list(list: &NewFilterList) -> Result<i32, Error>
        = operator_value(
            "select coordinator.add_filter_list($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            list.name, list.kind, list.store, list.object, list.sha256.as_slice(), list.entries,
            list.bytes, list.categories, list.source,
        );

    /// Returns the newest versions of imported lists, sorted by name.
    pub async fn filter_lists(names: Option<&[&str]>) -> Result<Vec<StoredFilterList>, Error>
        = operator_rows("select * from coordinator.filter_lists($1)", names.map(<[&str]>::to_vec));

    /// Writes an owner's filter: a new one, or the next version under this name.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects a value.
    pub async fn put_filter(owner: &str, name: &str, body: &Value) -> Result<StoredFilter, Error>
        = operator_row(
            "select * from coordinator.put_filter($1, $2, $3, $4)",
            Uuid::now_v7(), owner, name, body,
        );

    /// Returns an owner's filters, sorted by name.
    pub async fn list_filters(
        owner: &str,
        names: Option<&[&str]>,
    ) -> Result<Vec<StoredFilter>, Error>
        = operator_rows(
            "select * from coordinator.list_filters($1, $2)",
            owner, names.map(<[&str]>::to_vec),
        );

    /// Removes an owner's filter. Returns false if it does not exist.
    pub async fn remove_filter(owner: &str, name: &str) -> Result<bool, Error>
        = operator_value("select coordinator.remove_filter($1, $2)", owner, name);
}
