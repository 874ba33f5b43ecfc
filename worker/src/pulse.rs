//! What a run tells of itself while it goes on: that it gets somewhere, and in careful mode which
//! item it has in hand.
//!
//! Invariant: in careful mode an item is handled only once Postgres knows that it is in hand, and
//! an item that two runs died of is not handled again. Must not know: what an item is.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use everytab_coordinator::{Coordinator, Error, Fence};

/// An item in hand at so many deaths has crashed.
const DEATHS_OF_A_CRASHED_ITEM: i32 = 2;

/// The pulse of one run; clones share it.
#[derive(Clone, Default)]
pub struct Pulse {
    beats: Arc<AtomicU64>,
    careful: Option<Arc<Careful>>,
}

/// Until when the run's lease may be trusted, as known now.
pub type TrustedUntil = Box<dyn Fn() -> Instant + Send + Sync>;

struct Careful {
    coordinator: Coordinator,
    fence: Fence,
    trusted_until: TrustedUntil,
    deaths: HashMap<i64, i32>,
}

impl Pulse {
    /// The pulse of a careful run, with what earlier runs of the job died of.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn careful(
        self,
        coordinator: &Coordinator,
        fence: Fence,
        trusted_until: TrustedUntil,
    ) -> Result<Self, Error> {
        let deaths = coordinator.load_suspects(fence.job_id).await?.into_iter().collect();
        let careful = Careful { coordinator: coordinator.clone(), fence, trusted_until, deaths };
        Ok(Self { careful: Some(Arc::new(careful)), ..self })
    }

    /// Something was done.
    pub fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// How much was done.
    pub fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Whether items are handled one at a time.
    pub fn is_careful(&self) -> bool {
        self.careful.is_some()
    }

    /// Whether a run died with this item in hand: then it comes first, so that a run that is killed
    /// for another reason is not likely to have it in hand again.
    pub fn is_suspect(&self, item: i64) -> bool {
        self.deaths(item) > 0
    }

    /// Whether the item is not to be handled any more.
    pub fn has_crashed(&self, item: i64) -> bool {
        self.deaths(item) >= DEATHS_OF_A_CRASHED_ITEM
    }

    fn deaths(&self, item: i64) -> i32 {
        let deaths = self.careful.as_ref().and_then(|careful| careful.deaths.get(&item));
        deaths.copied().unwrap_or(0)
    }

    /// Takes an item in hand, and what was in hand before out of it. At once unless careful. Never
    /// returns when the lease is lost, or Postgres cannot be told: whoever waits is ended with the
    /// lease.
    pub async fn take(&self, item: i64) {
        let Some(careful) = &self.careful else { return };
        let until = (careful.trusted_until)();
        match careful.coordinator.checkpoint_item(careful.fence, item, until).await {
            Ok(true) => self.beat(),
            Ok(false) => std::future::pending().await,
            Err(error) => {
                tracing::warn!(%error, item, "not written down, and so not handled");
                std::future::pending().await
            }
        }
    }
}

impl fmt::Debug for Pulse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pulse")
            .field("beats", &self.beats())
            .field("careful", &self.is_careful())
            .finish()
    }
}
