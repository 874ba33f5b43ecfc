//! The dead origins that earlier candidates of one origin met on their way.
//!
//! A pure value. The candidates of an origin are fetched in canonical order, and each knows what
//! candidates `per_host` or more positions before it found, whatever the timing.
//! Must not know: requests.

use crate::outcome::Outcome;

/// Dead origins that are remembered: 51 candidates of a host with 6 requests each cannot name more
/// than a few hundred, and each costs a time-out at most once in a shard.
const MAX_DEAD_ORIGINS: usize = 64;

/// Dead origins and the outcome of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadOrigins {
    dead: Vec<(String, Outcome)>,
}

impl DeadOrigins {
    /// The outcome of asking `origin`, if it is known to be dead.
    pub(crate) fn verdict(&self, origin: &str) -> Option<Outcome> {
        self.dead.iter().find(|(dead, _)| dead == origin).map(|(_, outcome)| *outcome)
    }

    /// Adds a dead origin. If it is there already, its first outcome stays.
    pub(crate) fn add(&mut self, origin: &str, outcome: Outcome) {
        if self.dead.len() < MAX_DEAD_ORIGINS && self.verdict(origin).is_none() {
            self.dead.push((origin.to_owned(), outcome));
        }
    }
}
