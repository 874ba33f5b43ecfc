//! What the earlier candidates of one origin found dead on their way.
//!
//! A pure value: the candidates of an origin take their turns in canonical order, and each sees
//! what those at least `per_host` places before it found, whatever the timing.
//! Must not know: requests.

use crate::outcome::Outcome;

/// Origins that cost a timeout or a handshake at most once in a shard; 51 candidates of a host
/// with 6 requests each cannot name more than a few hundred.
const MAX_REMEMBERED: usize = 64;

/// Dead origins and the outcome that they gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadOrigins {
    found: Vec<(String, Outcome)>,
}

impl DeadOrigins {
    /// The outcome that asking `origin` had.
    pub(crate) fn verdict(&self, origin: &str) -> Option<Outcome> {
        self.found.iter().find(|(dead, _)| dead == origin).map(|(_, outcome)| *outcome)
    }

    /// `origin` was found dead; the first finding stays.
    pub(crate) fn add(&mut self, origin: &str, outcome: Outcome) {
        if self.found.len() < MAX_REMEMBERED && self.verdict(origin).is_none() {
            self.found.push((origin.to_owned(), outcome));
        }
    }
}
