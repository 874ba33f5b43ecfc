//! The blocklist: hosts, titles and icons that scans exclude. Live crawls send no requests to its
//! hosts.

use chrono::{DateTime, Utc};

use crate::{error::Error, row::from_row, sql_calls::sql_calls};

/// An entry of the blocklist.
#[derive(Debug, Clone)]
pub struct BlockedPattern {
    /// The kind of pattern: `hostname`, `suffix`, `title` or `sha256`.
    pub kind: String,
    /// A hostname, a domain suffix, a title pattern with `%` and `_`, or an icon's SHA-256.
    pub pattern: String,
    /// The reason why the pattern was added.
    pub reason: Option<String>,
    /// When the pattern was added.
    pub added_at: DateTime<Utc>,
}

from_row!(BlockedPattern { kind, pattern, reason, added_at });

/// A public list whose patterns were imported.
#[derive(Debug, Clone)]
pub struct ImportedList {
    /// The name that the operator gave it.
    pub list: String,
    /// The URL or file from which it was imported.
    pub source: String,
    /// Last import time.
    pub imported_at: DateTime<Utc>,
    /// Number of blocklist patterns that belong to this list. A pattern that an operator or another
    /// list had added before is not counted.
    pub patterns: i64,
}

from_row!(ImportedList { list, source, imported_at, patterns });

sql_calls! {
    /// Adds a pattern to the blocklist.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or rejects the pattern.
    pub async fn block(kind: &str, pattern: &str, reason: Option<&str>) -> Result<(), Error>
        = operator_done("select coordinator.block($1, $2, $3) is null", kind, pattern, reason);

    /// Removes a pattern from the blocklist. Returns false if the blocklist does not contain it.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn unblock(kind: &str, pattern: &str) -> Result<bool, Error>
        = operator_value("select coordinator.unblock($1, $2)", kind, pattern);

    /// Replaces an imported list's patterns. Returns how many blocklist patterns now belong to this
    /// list. `kinds` and `patterns` have equal lengths, are sorted, and contain no duplicate
    /// pattern.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or rejects a pattern.
    pub async fn import_list(
        list: &str,
        source: &str,
        kinds: &[&str],
        patterns: &[&str],
    ) -> Result<i64, Error>
        = operator_value(
            "select coordinator.import_list($1, $2, $3, $4)",
            list, source, kinds.to_vec(), patterns.to_vec(),
        );

    /// Removes an imported list and its patterns, except those that another list contains. Returns
    /// false if this list does not exist.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn remove_list(list: &str) -> Result<bool, Error>
        = operator_value("select coordinator.remove_list($1)", list);

    /// Returns the imported lists, sorted by name.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn imported_lists() -> Result<Vec<ImportedList>, Error>
        = operator_rows("select * from coordinator.imported_lists()");

    /// Returns the patterns that operators added to the blocklist, sorted by kind and pattern.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn list_blocked() -> Result<Vec<BlockedPattern>, Error>
        = operator_rows("select * from coordinator.list_blocked()");
}
