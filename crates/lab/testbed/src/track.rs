//! A track for measuring fetchers: many hosts with few kinds, served with as little work as
//! possible.
//!
//! The small internet draws an icon for each response and has forty behaviours. Here a host is a
//! number, its response is copied from a prepared one, and only totals are counted. Therefore a
//! measurement shows the client's speed and not the server's. A URL's response is a pure function
//! of the plan. The track needs the loopback ports 53, 80 and 443, so it runs in its own network
//! namespace. This module does not depend on the client.

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
    /// Starts the servers on the current tokio runtime.
    ///
    /// # Errors
    /// Returns an error if a port is in use or needs privileges.
    pub fn start(plan: TrackPlan) -> Result<Self, TestbedError> {
        let (plan, tally) = (Arc::new(plan), Arc::new(Tally::default()));
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
