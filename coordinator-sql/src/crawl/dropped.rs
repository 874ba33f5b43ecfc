//! Removes an ended crawl: its rows first, in batches, then its archives.
//!
//! Does not depend on how archives are removed.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    bind::bind, coordinator::Coordinator, error::Error, row::from_row, sql_calls::sql_calls,
};

/// The reason why a crawl cannot be dropped now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropObstacle {
    /// There is no such crawl.
    Unknown,
    /// It has not ended. Contains its state.
    Running(String),
    /// Its indexes are being written.
    Indexing,
    /// An open crawl repeats it, and may name its records. Contains that crawl's name.
    Repeated(String),
    /// A scan that has not ended reads it. Contains the scan's id.
    Scanned(String),
}

/// A crawl whose archives may be removed.
#[derive(Debug, Clone, PartialEq)]
pub struct DroppedCrawl {
    /// Its number in this database.
    pub crawl: i32,
    /// Its name.
    pub name: String,
    /// Its store.
    pub store: String,
    /// Its settings, which name other stores.
    pub settings: Value,
}

/// What a crawl's removal affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DropCounts {
    /// Its fetches.
    pub fetches: i64,
    /// Records in its archives that revisit records in other crawls name.
    pub named_records: i64,
}

struct Obstacle {
    word: Option<String>,
    what: Option<String>,
}

from_row!(Obstacle { word, what });
from_row!(DroppedCrawl { crawl, name, store, settings });
from_row!(DropCounts { fetches, named_records });

sql_calls! {
    /// Records that a crawl's removal starts, or that it was abandoned. Once it has started, crawls
    /// that repeat this one no longer name its records.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn mark_dropping(id: Uuid, is_dropping: bool) -> Result<(), Error>
        = operator_done("select true from coordinator.mark_dropping($1, $2)", id, is_dropping);

    /// Deletes at most `limit` rows per table for a crawl whose removal has started. Returns how
    /// many it deleted, 0 after the last.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn drop_crawl_rows(crawl: i32, limit: i32) -> Result<i64, Error>
        = patient_value("select coordinator.drop_crawl_rows($1, $2)", crawl, limit);

    /// Returns the crawl, followed by dropped crawls whose archives only this one may still have
    /// named.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn dropped_crawls(crawl: i32) -> Result<Vec<DroppedCrawl>, Error>
        = operator_rows("select * from coordinator.dropped_crawls($1)", crawl);

    /// Records that a crawl's rows and archives are removed.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn finish_drop(crawl: i32) -> Result<(), Error>
        = operator_done("select true from coordinator.finish_drop($1)", crawl);

    /// Counts what a crawl's removal affects. Takes seconds for ten million fetches.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn drop_counts(crawl: i32) -> Result<DropCounts, Error>
        = operator_row("select * from coordinator.drop_counts($1)", crawl);

    /// Returns the archives among `objects` that other crawls' fetches name, except the crawls in
    /// `but`.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn named_objects(but: &[i32], objects: &[String]) -> Result<Vec<String>, Error>
        = operator_column(
            "select object from coordinator.named_objects($1, $2) object",
            but.to_vec(), objects.to_vec(),
        );
}

impl Coordinator {
    /// Returns why a crawl cannot be dropped now. `None` if it can.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn drop_obstacle(&self, id: Uuid) -> Result<Option<DropObstacle>, Error> {
        let sql = "select * from coordinator.drop_obstacle($1)";
        let found: Vec<Obstacle> = self.operator_rows(sql, &[bind(&id)]).await?;
        let Some(Obstacle { word: Some(word), what }) = found.into_iter().next() else {
            return Ok(None);
        };
        let what = what.unwrap_or_default();
        Ok(Some(match word.as_str() {
            "running" => DropObstacle::Running(what),
            "indexing" => DropObstacle::Indexing,
            "repeated" => DropObstacle::Repeated(what),
            "scanned" => DropObstacle::Scanned(what),
            _ => DropObstacle::Unknown,
        }))
    }
}
