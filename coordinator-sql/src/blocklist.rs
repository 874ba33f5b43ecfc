//! The blocklist: what takedowns keep out of scans.

use chrono::{DateTime, Utc};

use crate::{bind::bind, coordinator::Coordinator, error::Error, row::from_row};

/// An entry of the blocklist.
#[derive(Debug, Clone)]
pub struct BlockedPattern {
    /// What the pattern is: hostname, suffix or title.
    pub kind: String,
    /// The hostname, the domain suffix, or a pattern for titles with % and _.
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
    /// Where it came from: a URL or a file.
    pub source: String,
    /// When it was imported last.
    pub imported_at: DateTime<Utc>,
    /// How many of its patterns are on the blocklist by it alone.
    pub patterns: i64,
}

from_row!(ImportedList { list, source, imported_at, patterns });

impl Coordinator {
    /// Adds a pattern to the blocklist.
    ///
    /// # Errors
    /// When Postgres refuses it.
    pub async fn block(
        &self,
        kind: &str,
        pattern: &str,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let sql = "select coordinator.block($1, $2, $3) is null";
        let parameters = [bind(&kind), bind(&pattern), bind(&reason)];
        self.operator_value::<bool>(sql, &parameters).await.map(drop)
    }

    /// Removes a pattern from the blocklist. False: it was not on it.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn unblock(&self, kind: &str, pattern: &str) -> Result<bool, Error> {
        let sql = "select coordinator.unblock($1, $2)";
        self.operator_value(sql, &[bind(&kind), bind(&pattern)]).await
    }

    /// Replaces the patterns of an imported list; answers how many it has now. `kinds` and
    /// `patterns` are of the same length, sorted, and name no pattern twice.
    ///
    /// # Errors
    /// When Postgres refuses it.
    pub async fn import_list(
        &self,
        list: &str,
        source: &str,
        kinds: &[&str],
        patterns: &[&str],
    ) -> Result<i64, Error> {
        let sql = "select coordinator.import_list($1, $2, $3, $4)";
        let (kinds, patterns) = (kinds.to_vec(), patterns.to_vec());
        let parameters = [bind(&list), bind(&source), bind(&kinds), bind(&patterns)];
        self.operator_value(sql, &parameters).await
    }

    /// Removes an imported list with its patterns. False: there is no such list.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn remove_list(&self, list: &str) -> Result<bool, Error> {
        self.operator_value("select coordinator.remove_list($1)", &[bind(&list)]).await
    }

    /// The imported lists, by name.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn imported_lists(&self) -> Result<Vec<ImportedList>, Error> {
        self.operator_rows("select * from coordinator.imported_lists()", &[]).await
    }

    /// What operators added to the blocklist, in order.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn list_blocked(&self) -> Result<Vec<BlockedPattern>, Error> {
        self.operator_rows("select * from coordinator.list_blocked()", &[]).await
    }
}
