//! The item journal of a job in poison-item isolation, in Postgres. A checkpoint returns only after
//! Postgres has recorded the item under the lease's fence.

use std::collections::HashMap;

use everytab_coordinator::{Coordinator, Error, Fence};
use everytab_fetcher::{Heartbeat, ItemJournal};
use futures_util::future::BoxFuture;

use crate::leases::LeaseTrust;

pub(crate) struct PostgresJournal {
    coordinator: Coordinator,
    fence: Fence,
    trusted: LeaseTrust,
    heartbeat: Heartbeat,
    deaths: HashMap<i64, u32>,
}

impl PostgresJournal {
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
