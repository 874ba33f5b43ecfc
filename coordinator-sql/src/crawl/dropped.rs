//! Removes an ended crawl: first its rows, in batches, and then its archives.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{bind::bind, row::from_row},
    error::Error,
};

/// The reason why a crawl cannot be dropped now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropObstacle {
    /// The crawl does not exist.
    Unknown,
    /// The crawl has not ended, and this is its state.
    Running(String),
    /// Its indexes are being written.
    Indexing,
    /// The name of an open crawl that repeats this one.
    Repeated(String),
    /// The id of a running scan that reads this crawl.
    Scanned(String),
}

/// A crawl whose archives may be removed.
#[derive(Debug, Clone, PartialEq)]
pub struct DroppedCrawl {
    /// Its number.
    pub crawl: i32,
    /// Its name.
    pub name: String,
    /// Its store.
    pub store: String,
    /// Its settings, which may name further stores.
    pub settings: Value,
}

/// Counts for confirming a crawl's removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DropCounts {
    /// Number of fetches in the crawl.
    pub fetches: i64,
    /// Number of records in its archives to which other crawls refer, and which remain.
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
    /// Records that a crawl's removal has started, or was abandoned. After the start, other crawls
    /// no longer refer to its records.
    pub async fn mark_dropping(id: Uuid, is_dropping: bool) -> Result<(), Error>
        = operator_done("select true from coordinator.mark_dropping($1, $2)", id, is_dropping);

    /// Deletes at most `limit` rows per table, and returns their number, 0 if none are left.
    pub async fn drop_crawl_rows(crawl: i32, limit: i32) -> Result<i64, Error>
        = patient_value("select coordinator.drop_crawl_rows($1, $2)", crawl, limit);

    /// Returns this crawl and the dropped crawls that it repeats, because it may have been the last
    /// to refer to their archives.
    pub async fn dropped_crawls(crawl: i32) -> Result<Vec<DroppedCrawl>, Error>
        = operator_rows("select * from coordinator.dropped_crawls($1)", crawl);

    /// Records that a crawl's rows and archives were removed.
    pub async fn finish_drop(crawl: i32) -> Result<(), Error>
        = operator_done("select true from coordinator.finish_drop($1)", crawl);

    /// Counts a crawl's fetches and the records to which other crawls refer, which takes seconds
    /// for ten million fetches.
    pub async fn drop_counts(crawl: i32) -> Result<DropCounts, Error>
        = operator_row("select * from coordinator.drop_counts($1)", crawl);

    /// Returns the archives among `objects` to which crawls other than `but` refer.
    pub async fn named_objects(but: &[i32], objects: &[String]) -> Result<Vec<String>, Error>
        = operator_column(
            "select object from coordinator.named_objects($1, $2) object",
            but.to_vec(), objects.to_vec(),
        );
}

impl Coordinator {
    /// Returns why a crawl cannot be dropped now. `None` if it can be dropped.
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
