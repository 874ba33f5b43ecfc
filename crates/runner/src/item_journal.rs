//! The item journal of a job in poison-item isolation, stored in Postgres.
//!
//! Invariant: a checkpoint returns only after Postgres has recorded the item under the lease's
//! fence.
//!
//! Does not depend on the type of items.

use std::collections::HashMap;

use everytab_coordinator::{Coordinator, Error, Fence};
use everytab_fetcher::{Heartbeat, ItemJournal};
use futures_util::future::BoxFuture;

use crate::leases::LeaseTrust;

/// The journal of one job under one lease.
pub(crate) struct PostgresJournal {
    coordinator: Coordinator,
    fence: Fence,
    trusted: LeaseTrust,
    heartbeat: Heartbeat,
    deaths: HashMap<i64, u32>,
}

impl PostgresJournal {
    /// Loads the items that were being handled when a process performing the job died.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub(crate) async fn load(
        coordinator: &Coordinator,
        fence: Fence,
        trusted: LeaseTrust,
        heartbeat: Heartbeat,
    ) -> Result<Self, Error> {
        let suspects = coordinator.load_suspects(fence.job_id).await?;
        let deaths = suspects.into_iter().map(|(item, deaths)| (item, deaths.unsigned_abs()));
        let (coordinator, deaths) = (coordinator.clone(), deaths.collect());
        Ok(Self { coordinator, fence, trusted, heartbeat, deaths })
    }

    async fn checkpoint(&self, item: i64) {
        let until = self.trusted.until();
        match self.coordinator.checkpoint_item(self.fence, item, until).await {
            Ok(true) => self.heartbeat.beat(),
            // The lease is lost, so the job is about to be aborted.
            Ok(false) => std::future::pending().await,
            Err(error) => {
                tracing::warn!(%error, item, "the item is not handled: no checkpoint of it");
                std::future::pending().await
            }
        }
    }
}

impl ItemJournal for PostgresJournal {
    fn deaths(&self, item: i64) -> u32 {
        self.deaths.get(&item).copied().unwrap_or(0)
    }

    fn checkpoint_item(&self, item: i64) -> BoxFuture<'_, ()> {
        Box::pin(self.checkpoint(item))
    }
}
