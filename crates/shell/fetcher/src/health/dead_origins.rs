//! The dead origins that earlier candidates of one origin encountered.
//!
//! This is a pure value. The candidates of an origin are fetched in canonical order, and each gets
//! the findings of candidates at least `per_host` positions before it, independently of timing.
//! Does not depend on requests.

use crate::outcome::Outcome;

/// Maximum number of dead origins that are remembered. 51 candidates of a host with 6 requests each
/// name at most a few hundred, and each costs at most one timeout per shard.
const MAX_DEAD_ORIGINS: usize = 64;

/// Dead origins, each with its outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadOrigins {
    dead: Vec<(String, Outcome)>,
}

impl DeadOrigins {
    /// Returns the outcome of requesting `origin`. `None` unless it is known to be dead.
    pub(crate) fn verdict(&self, origin: &str) -> Option<Outcome> {
        self.dead.iter().find(|(dead, _)| dead == origin).map(|(_, outcome)| *outcome)
    }

    /// Adds a dead origin. If it was added before, it keeps its first outcome.
    pub(crate) fn add(&mut self, origin: &str, outcome: Outcome) {
        if self.dead.len() < MAX_DEAD_ORIGINS && self.verdict(origin).is_none() {
            self.dead.push((origin.to_owned(), outcome));
        }
    }
}
