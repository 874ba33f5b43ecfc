//! A track for measuring fetchers: many hosts of few kinds, served with as little work as possible.
//! It needs the loopback ports 53, 80 and 443, so it runs in its own network namespace.

mod names;
mod plan;
mod tally;
mod web;

use std::{io, sync::Arc};

pub use plan::{ExpectedTotals, HostKind, Scenario, TrackPlan, TrackSize};
pub use tally::Tally;

use crate::error::TestbedError;

/// A track that runs until it is dropped.
pub struct Track {
    tally: Arc<Tally>,
    _web: web::Web,
}

impl Track {
    /// Starts this track's servers.
    pub fn start(plan: TrackPlan) -> Result<Self, TestbedError> {
        let plan = Arc::new(plan);
        let tally = Arc::new(Tally::default());
        let failed = |source: io::Error| TestbedError::Listen { what: "the track", source };
        names::serve(&plan, &tally).map_err(failed)?;
        let web = web::Web::start(&plan, &tally)?;
        Ok(Self { tally, _web: web })
    }

    /// Returns the totals since the start.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}
