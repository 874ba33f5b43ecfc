//! Dead origins that the earlier candidates of one origin found.
//!
//! This is a pure value. The candidates of an origin are fetched in canonical order. Each candidate
//! may use the findings of the first one, and of those at least `per_host` positions before it, so
//! the findings do not depend on timing. This module does not depend on requests.

use crate::outcome::Outcome;

/// Maximum number of dead origins to remember, so that their memory is bounded. A dead origin over
/// this limit is tried again for each candidate that leads to it.
const MAX_DEAD_ORIGINS: usize = 64;

/// Dead origins, each with its outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadOrigins {
    dead: Vec<(String, Outcome)>,
}

impl DeadOrigins {
    /// Returns the outcome for `origin` if it is known to be dead.
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
