//! Filters of live crawls, and the imported lists that they refer to, as operators manage them.
//!
//! Does not depend on the meaning of filters and lists.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{bind::bind, coordinator::Coordinator, error::Error, row::from_row};

/// The owner of the filters that operators write.
pub const OPERATOR: &str = "operator";

/// A stored filter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredFilter {
    /// Its id, which does not change with its version.
    pub id: Uuid,
    /// Its owner: `operator`, or `key:` and the id of a key.
    pub owner: String,
    /// Its name, unique among those of its owner.
    pub name: String,
    /// Number of times that it was written.
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
    /// Its name.
    pub name: String,
    /// The kind of its entries: `names` or `countries`.
    pub kind: String,
    /// The store of its object.
    pub store: String,
    /// The name of its object.
    pub object: String,
    /// SHA-256 of the object.
    pub sha256: Vec<u8>,
    /// Number of its names or ranges.
    pub entries: i64,
    /// Length of the object in bytes.
    pub bytes: i64,
    /// Number of names by category.
    pub categories: Value,
    /// The source of the import.
    pub source: String,
}

/// The newest version of an imported list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFilterList {
    /// Its name.
    pub name: String,
    /// Number of imports with different contents.
    pub version: i32,
    /// The kind of its entries: `names` or `countries`.
    pub kind: String,
    /// The store of its object.
    pub store: String,
    /// The name of its object.
    pub object: String,
    /// SHA-256 of the object.
    pub sha256: Vec<u8>,
    /// Number of its names or ranges.
    pub entries: i64,
    /// Length of the object in bytes.
    pub bytes: i64,
    /// Number of names by category.
    pub categories: Value,
    /// The source of the import.
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

impl Coordinator {
    /// Records an imported list. Returns its version, which does not change if the contents did
    /// not.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects it.
    pub async fn add_filter_list(&self, list: &NewFilterList) -> Result<i32, Error> {
        let sql = "select coordinator.add_filter_list($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let sha256 = list.sha256.as_slice();
        let parameters = [
            bind(&list.name),
            bind(&list.kind),
            bind(&list.store),
            bind(&list.object),
            bind(&sha256),
            bind(&list.entries),
            bind(&list.bytes),
            bind(&list.categories),
            bind(&list.source),
        ];
        self.operator_value(sql, &parameters).await
    }

    /// Returns the newest versions of imported lists, sorted by name: of all, or of those with
    /// `names`.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn filter_lists(
        &self,
        names: Option<&[&str]>,
    ) -> Result<Vec<StoredFilterList>, Error> {
        let sql = "select * from coordinator.filter_lists($1)";
        self.operator_rows(sql, &[bind(&names.map(<[&str]>::to_vec))]).await
    }

    /// Writes a filter of an owner: a new one, or the next version of the one with this name.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects it.
    pub async fn put_filter(
        &self,
        owner: &str,
        name: &str,
        body: &Value,
    ) -> Result<StoredFilter, Error> {
        let sql = "select * from coordinator.put_filter($1, $2, $3, $4)";
        let id = Uuid::now_v7();
        let parameters = [bind(&id), bind(&owner), bind(&name), bind(&body)];
        let mut rows = self.operator_rows(sql, &parameters).await?;
        rows.pop().ok_or_else(|| Error::Unexpected("no filter".into()))
    }

    /// Returns the filters of an owner, sorted by name: all, or those with `names`.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn list_filters(
        &self,
        owner: &str,
        names: Option<&[&str]>,
    ) -> Result<Vec<StoredFilter>, Error> {
        let sql = "select * from coordinator.list_filters($1, $2)";
        self.operator_rows(sql, &[bind(&owner), bind(&names.map(<[&str]>::to_vec))]).await
    }

    /// Removes a filter of an owner. Returns false if there is none with this name.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn remove_filter(&self, owner: &str, name: &str) -> Result<bool, Error> {
        let sql = "select coordinator.remove_filter($1, $2)";
        self.operator_value(sql, &[bind(&owner), bind(&name)]).await
    }
}
