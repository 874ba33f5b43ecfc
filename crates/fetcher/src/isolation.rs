//! Poison-item isolation: which items of a job ended a worker's process, and which is handled now.
//!
//! A job that keeps ending the process that performs it is performed in isolation: it handles one
//! item at a time and checkpoints each before handling it, so that the item which was current at
//! the death is known.
//! Invariant: in isolation an item is handled only after its checkpoint is recorded; an item that
//! was current at two deaths is not handled again.
//! Must not know: what an item is, where checkpoints are recorded.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

/// An item that was current at this many deaths of a process has crashed.
const DEATHS_OF_A_CRASHED_ITEM: u32 = 2;

/// Where a job in isolation records its current item. Items are numbers that stay the same however
/// often the job is performed.
pub trait ItemJournal: Send + Sync {
    /// How often a process ended while it performed the job with this item as the current one.
    fn deaths(&self, item: i64) -> u32;

    /// Records that this item is the current one, in place of the item before it. Never returns if
    /// that cannot be recorded: the job is then ended from outside, with its lease.
    fn checkpoint_item(&self, item: i64) -> BoxFuture<'_, ()>;
}

/// Whether a job is isolated, and by which journal. The default is no isolation: the job handles
/// any number of items at a time and records nothing.
#[derive(Clone, Default)]
pub struct ItemIsolation(Option<Arc<dyn ItemJournal>>);

impl ItemIsolation {
    /// Isolates a job by this journal.
    pub fn by(journal: Arc<dyn ItemJournal>) -> Self {
        Self(Some(journal))
    }

    /// Whether items are handled one at a time.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a process ended while this item was current. Such items come first, so that a job
    /// whose process is killed for another reason is unlikely to have one of them as its current
    /// item again.
    pub fn is_suspect(&self, item: i64) -> bool {
        self.deaths(item) > 0
    }

    /// Whether the item is not to be handled any more.
    pub fn has_crashed(&self, item: i64) -> bool {
        self.deaths(item) >= DEATHS_OF_A_CRASHED_ITEM
    }

    fn deaths(&self, item: i64) -> u32 {
        self.0.as_ref().map_or(0, |journal| journal.deaths(item))
    }

    /// Records that this item is the current one. Returns immediately without isolation; never
    /// returns if the item cannot be recorded.
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
