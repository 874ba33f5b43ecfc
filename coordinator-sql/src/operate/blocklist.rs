//! The blocklist: hosts, titles and icons that are excluded.

use chrono::{DateTime, Utc};

use crate::{client::sql_calls::sql_calls, connection::row::from_row, error::Error};

/// An entry of the blocklist.
#[derive(Debug, Clone)]
pub struct BlockedPattern {
    /// The kind of pattern: `hostname`, `suffix`, `title` or `sha256`.
    pub kind: String,
    /// A hostname, a domain suffix, a title pattern with `%` and `_`, or an icon's SHA-256.
    pub pattern: String,
    /// Why the pattern was added.
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
    /// Where it was imported from.
    pub source: String,
    /// Last import time.
    pub imported_at: DateTime<Utc>,
    /// Number of blocklist patterns that belong to this list, not to an operator or another list.
    pub patterns: i64,
}

from_row!(ImportedList { list, source, imported_at, patterns });

/// A blocklist pattern that applies to a scan or a live crawl.
#[derive(Debug, Clone)]
pub struct BlockedHost {
    /// `hostname` or `suffix`, or any kind if
    /// [`load_later_blocks`](crate::Coordinator::load_later_blocks) returns it.
    pub kind: String,
    /// The hostname, the domain, or another kind's pattern.
    pub pattern: String,
}

from_row!(BlockedHost { kind, pattern });

sql_calls! {
    /// Adds a pattern to the blocklist.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or rejects the pattern.
    pub async fn block(kind: &str, pattern: &str, reason: Option<&str>) -> Result<(), Error>
        = operator_done("select coordinator.block($1, $2, $3) is null", kind, pattern, reason);

    /// Removes a pattern from the blocklist. Returns false if it is not there.
    pub async fn unblock(kind: &str, pattern: &str) -> Result<bool, Error>
        = operator_value("select coordinator.unblock($1, $2)", kind, pattern);

    /// Replaces an imported list's patterns, which are sorted and unique. Returns how many belong
    /// to this list.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects a pattern.
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

    /// Removes an imported list, and its patterns unless another list contains them. Returns false
    /// if it does not exist.
    pub async fn remove_list(list: &str) -> Result<bool, Error>
        = operator_value("select coordinator.remove_list($1)", list);

    /// Returns the imported lists, sorted by name.
    pub async fn imported_lists() -> Result<Vec<ImportedList>, Error>
        = operator_rows("select * from coordinator.imported_lists()");

    /// Returns the patterns that operators added to the blocklist, sorted.
    pub async fn list_blocked() -> Result<Vec<BlockedPattern>, Error>
        = operator_rows("select * from coordinator.list_blocked()");

    /// Returns the blocked hosts that were added after a time. A transaction may commit later than
    /// its time, so calls should overlap by some minutes.
    pub async fn load_blocked_hosts(after: DateTime<Utc>) -> Result<Vec<BlockedHost>, Error>
        = load("select * from coordinator.load_blocked_hosts($1)", after);
}
