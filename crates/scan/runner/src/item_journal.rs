//! The item journal of a job in poison-item isolation, stored in Postgres.
//!
//! Invariant: a checkpoint returns only after Postgres has recorded the item under the lease's
//! fence.
//!
//! This module does not depend on the meaning of items.

use std::collections::HashMap;

use everytab_coordinator::{Coordinator, Error, Fence};
use everytab_fetcher::{Heartbeat, ItemJournal};
use futures_util::future::BoxFuture;

use crate::leases::LeaseTrust;

/// One job's journal under one lease.
pub(crate) struct PostgresJournal {
    coordinator: Coordinator,
    fence: Fence,
    trusted: LeaseTrust,
    heartbeat: Heartbeat,
    deaths: HashMap<i64, u32>,
}

impl PostgresJournal {
    /// Loads the items that were in progress when earlier processes died while performing this job.
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
        let coordinator = coordinator.clone();
        let deaths = deaths.collect();
        Ok(Self { coordinator, fence, trusted, heartbeat, deaths })
    }

    async fn checkpoint(&self, item: i64) {
        let until = self.trusted.until();
        match self.coordinator.checkpoint_item(self.fence, item, until).await {
            Ok(true) => self.heartbeat.beat(),
            // The lease is lost, so the job is about to be aborted.
            Ok(false) => std::future::pending().await,
            Err(error) => {
                tracing::warn!(%error, item, "cannot checkpoint the item; it is not handled");
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
