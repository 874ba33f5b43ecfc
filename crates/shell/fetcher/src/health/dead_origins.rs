//! Dead origins that the earlier candidates of one origin found.
//!
//! Candidates are fetched in canonical order. Each candidate may use the findings of the first one,
//! and of those at least `per_host` positions before it, so that the findings do not depend on
//! timing.

use crate::outcome::Outcome;

/// Maximum number of dead origins to remember.
const MAX_DEAD_ORIGINS: usize = 64;

#[derive(Clone, Debug, Default)]
pub(crate) struct DeadOrigins {
    dead: Vec<(String, Outcome)>,
}

impl DeadOrigins {
    pub(crate) fn verdict(&self, origin: &str) -> Option<Outcome> {
        self.dead.iter().find(|(dead, _)| dead == origin).map(|(_, outcome)| *outcome)
    }

    pub(crate) fn add(&mut self, origin: &str, outcome: Outcome) {
        if self.dead.len() < MAX_DEAD_ORIGINS && self.verdict(origin).is_none() {
            self.dead.push((origin.to_owned(), outcome));
        }
    }
}
