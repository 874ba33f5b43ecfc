//! Removes an ended crawl: its rows first, in batches, then its archives.
//!
//! Does not depend on how archives are removed.

use serde_json::Value;
use uuid::Uuid;

use crate::{bind::bind, coordinator::Coordinator, error::Error, row::from_row};

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

    /// Records that a crawl's removal starts, or that it was abandoned. Once it has started, crawls
    /// that repeat this one no longer name its records.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn mark_dropping(&self, id: Uuid, is_dropping: bool) -> Result<(), Error> {
        let sql = "select true from coordinator.mark_dropping($1, $2)";
        let _: bool = self.operator_value(sql, &[bind(&id), bind(&is_dropping)]).await?;
        Ok(())
    }

    /// Counts what a crawl's removal affects. Takes seconds for ten million fetches.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn drop_counts(&self, crawl: i32) -> Result<DropCounts, Error> {
        let sql = "select * from coordinator.drop_counts($1)";
        let counts = self.operator_rows(sql, &[bind(&crawl)]).await?;
        Ok(counts.into_iter().next().unwrap_or_default())
    }

    /// Deletes at most `limit` rows per table for a crawl whose removal has started. Returns how
    /// many it deleted, 0 after the last.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn drop_crawl_rows(&self, crawl: i32, limit: i32) -> Result<i64, Error> {
        let sql = "select coordinator.drop_crawl_rows($1, $2)";
        self.patient_value(sql, &[bind(&crawl), bind(&limit)]).await
    }

    /// Returns the crawl, followed by dropped crawls whose archives only this one may still have
    /// named.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn dropped_crawls(&self, crawl: i32) -> Result<Vec<DroppedCrawl>, Error> {
        self.operator_rows("select * from coordinator.dropped_crawls($1)", &[bind(&crawl)]).await
    }

    /// Returns the archives among `objects` that other crawls' fetches name, except the crawls in
    /// `but`.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn named_objects(
        &self,
        but: &[i32],
        objects: &[String],
    ) -> Result<Vec<String>, Error> {
        let sql = "select object from coordinator.named_objects($1, $2) object";
        let but = but.to_vec();
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        let parameters = [bind(&but), bind(&objects)];
        let named: Vec<Named> = self.operator_rows(sql, &parameters).await?;
        Ok(named.into_iter().map(|named| named.object).collect())
    }

    /// Records that a crawl's rows and archives are removed.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn finish_drop(&self, crawl: i32) -> Result<(), Error> {
        let sql = "select true from coordinator.finish_drop($1)";
        let _: bool = self.operator_value(sql, &[bind(&crawl)]).await?;
        Ok(())
    }
}

struct Named {
    object: String,
}

from_row!(Named { object });
