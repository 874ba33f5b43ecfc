//! Isolation of poison items: tracks which items of a job ended a worker's process.
//!
//! If a job keeps ending the process that runs it, it runs in isolation: it handles one item at a
//! time and checkpoints each before handling it, so that the current item is known when the process
//! dies.
//!
//! Invariants: in isolation an item is handled only after its checkpoint is recorded. An item that
//! was current at three deaths is not handled again. Does not depend on the kind of items, or on
//! where checkpoints are recorded.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

/// An item counts as crashed if it was current at this many process deaths. Two also happen by
/// chance: the item that was current at the first death is handled first in the next run, so it is
/// the current item while that run waits for a store or a network that has just failed.
const DEATHS_OF_A_CRASHED_ITEM: u32 = 3;

/// Records an isolated job's current item. Items are numbers, and each run of the job must use the
/// same numbers.
pub trait ItemJournal: Send + Sync {
    /// Returns how often a process died while this was the current item.
    fn deaths(&self, item: i64) -> u32;

    /// Records the current item, which replaces the previous one. If it cannot be recorded, this
    /// never returns, so the lease expires and the job is aborted from outside.
    fn checkpoint_item(&self, item: i64) -> BoxFuture<'_, ()>;
}

/// A job's journal, if it is isolated. By default it is not: it handles any number of items at a
/// time and records nothing.
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
    /// that a process that is killed for another reason is unlikely to have one of them as its
    /// current item again.
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

    /// Records the current item. Without isolation this returns immediately. If the item cannot be
    /// recorded, it never returns.
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
