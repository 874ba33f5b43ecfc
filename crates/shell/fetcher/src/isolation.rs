//! Isolates poison items, which kill the worker's process when they are handled.
//!
//! If a job repeatedly kills the process that runs it, the job is isolated. It then handles one
//! item at a time and records each item before it handles it, so that the current item is known
//! when the process dies.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

/// An item that was current at this many process deaths counts as crashed. Two deaths also happen
/// by chance, because the item of the first death is handled first in the next run and is current
/// while that run waits for a store or a network that has just failed.
const DEATHS_OF_A_CRASHED_ITEM: u32 = 3;

/// Records an isolated job's current item. Every run of the job must give an item the same number.
pub trait ItemJournal: Send + Sync {
    /// Returns how many times a process died while this was the current item.
    fn deaths(&self, item: i64) -> u32;

    /// Records the current item. If it cannot be recorded, this never returns, so the lease expires
    /// and the job is aborted from outside.
    fn checkpoint_item(&self, item: i64) -> BoxFuture<'_, ()>;
}

/// A job's journal, if the job is isolated.
#[derive(Clone, Default)]
pub struct ItemIsolation(Option<Arc<dyn ItemJournal>>);

impl ItemIsolation {
    /// Isolates a job with this journal.
    pub fn by(journal: Arc<dyn ItemJournal>) -> Self {
        Self(Some(journal))
    }

    /// Returns whether items are handled one at a time.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether a process died while this item was current. Such items are handled first, so
    /// that they are finished before a process is killed for another reason.
    pub fn is_suspect(&self, item: i64) -> bool {
        self.deaths(item) > 0
    }

    /// Returns whether the item must not be handled again.
    pub fn has_crashed(&self, item: i64) -> bool {
        self.deaths(item) >= DEATHS_OF_A_CRASHED_ITEM
    }

    fn deaths(&self, item: i64) -> u32 {
        self.0.as_ref().map_or(0, |journal| journal.deaths(item))
    }

    /// Records the current item if the job is isolated.
    pub async fn checkpoint_item(&self, item: i64) {
        if let Some(journal) = &self.0 {
            journal.checkpoint_item(item).await;
        }
    }
}

impl fmt::Debug for ItemIsolation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ItemIsolation").field(&self.is_on()).finish()
    }
}
