//! Filters of live crawls, and the imported lists that they name, as operators keep them.
//!
//! Must not know: what a filter or a list means.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{bind::bind, coordinator::Coordinator, error::Error, row::from_row};

/// Whose the filters are that operators write.
pub const OPERATOR: &str = "operator";

/// A filter that is kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredFilter {
    /// Its id, which stays the same when it is changed.
    pub id: Uuid,
    /// Whose it is: `operator`, or `key:` and the id of a key.
    pub owner: String,
    /// Its name, unique among those of its owner.
    pub name: String,
    /// How often it was written.
    pub version: i32,
    /// The filter as JSON.
    pub body: Value,
    /// When it was written last.
    pub changed_at: DateTime<Utc>,
}

from_row!(StoredFilter { id, owner, name, version, body, changed_at });

/// A list that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFilterList {
    /// Its name.
    pub name: String,
    /// What it has: `names` or `countries`.
    pub kind: String,
    /// The store that has its object.
    pub store: String,
    /// The object.
    pub object: String,
    /// SHA-256 of the object.
    pub sha256: Vec<u8>,
    /// Its names or ranges.
    pub entries: i64,
    /// Length of the object in bytes.
    pub bytes: i64,
    /// Number of names by category.
    pub categories: Value,
    /// Where it came from.
    pub source: String,
}

/// The newest version of an imported list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFilterList {
    /// Its name.
    pub name: String,
    /// How often it was imported with other content.
    pub version: i32,
    /// What it has: `names` or `countries`.
    pub kind: String,
    /// The store that has its object.
    pub store: String,
    /// The object.
    pub object: String,
    /// SHA-256 of the object.
    pub sha256: Vec<u8>,
    /// Its names or ranges.
    pub entries: i64,
    /// Length of the object in bytes.
    pub bytes: i64,
    /// Number of names by category.
    pub categories: Value,
    /// Where it came from.
    pub source: String,
    /// When.
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
    /// Notes that a list was imported; answers its version, that of before where nothing changed.
    ///
    /// # Errors
    /// When Postgres refuses it.
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

    /// The newest versions of imported lists by name: of all, or of those that are named.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn filter_lists(
        &self,
        names: Option<&[&str]>,
    ) -> Result<Vec<StoredFilterList>, Error> {
        let sql = "select * from coordinator.filter_lists($1)";
        self.operator_rows(sql, &[bind(&names.map(<[&str]>::to_vec))]).await
    }

    /// Writes a filter of an owner: a new one, or the next version of the one of this name.
    ///
    /// # Errors
    /// When Postgres refuses it.
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

    /// The filters of an owner by name: all, or those that are named.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn list_filters(
        &self,
        owner: &str,
        names: Option<&[&str]>,
    ) -> Result<Vec<StoredFilter>, Error> {
        let sql = "select * from coordinator.list_filters($1, $2)";
        self.operator_rows(sql, &[bind(&owner), bind(&names.map(<[&str]>::to_vec))]).await
    }

    /// Removes a filter of an owner. False: it has none of this name.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn remove_filter(&self, owner: &str, name: &str) -> Result<bool, Error> {
        let sql = "select coordinator.remove_filter($1, $2)";
        self.operator_value(sql, &[bind(&owner), bind(&name)]).await
    }
}
