//! A counter that grows while a job makes progress.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Counts the steps of a job under one lease. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<AtomicU64>);

impl Heartbeat {
    /// Counts one step, such as a finished item.
    pub fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of steps.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
