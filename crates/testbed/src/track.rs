//! A track for measuring fetchers: many hosts of few kinds, served with as little work as can be.
//!
//! The small internet draws each answer anew and can misbehave in forty ways; here a host is a
//! number, its answer is copied from a ready one, and nothing is counted but totals, so that what
//! is measured is the client. What a URL does is a pure function of the plan. It needs ports 53,
//! 80 and 443 of loopback, so it runs in a network namespace of its own.
//! Must not know: who is measured.

mod names;
mod plan;
mod tally;
mod web;

use std::io;
use std::sync::Arc;

use crate::error::TestbedError;

pub use plan::{Expected, Kind, Plan, Scenario, Size};
pub use tally::Tally;

/// A track that is up, until it is dropped.
pub struct Track {
    tally: Arc<Tally>,
    _web: web::Web,
}

impl Track {
    /// Starts the servers on the current tokio runtime.
    ///
    /// # Errors
    /// A port that is taken or forbidden.
    pub fn start(plan: Plan) -> Result<Self, TestbedError> {
        let (plan, tally) = (Arc::new(plan), Arc::new(Tally::default()));
        let failed = |source: io::Error| TestbedError::Listen { what: "the track", source };
        names::serve(&plan, &tally).map_err(failed)?;
        let web = web::Web::start(&plan, &tally)?;
        Ok(Self { tally, _web: web })
    }

    /// What was asked so far.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}
