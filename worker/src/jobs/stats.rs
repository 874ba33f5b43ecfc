//! The counts that a completion carries: inputs, outcomes, and whatever else was counted.

use std::collections::BTreeMap;

use serde::Serialize;

/// Counts of one job. Outcomes add up to inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    inputs: BTreeMap<String, u64>,
    outcomes: BTreeMap<String, u64>,
    counts: BTreeMap<String, u64>,
}

impl Stats {
    /// Counts what went in, by its name.
    pub fn input(&mut self, name: &str, amount: u64) {
        *self.inputs.entry(name.into()).or_default() += amount;
    }

    /// Counts inputs that ended in an outcome.
    pub fn outcome(&mut self, name: &str, amount: u64) {
        if amount > 0 {
            *self.outcomes.entry(name.into()).or_default() += amount;
        }
    }

    /// Counts anything else.
    pub fn count(&mut self, name: &str, amount: u64) {
        *self.counts.entry(name.into()).or_default() += amount;
    }

    /// The inputs by outcome.
    pub fn outcomes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.outcomes.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    /// Whether every input has exactly one outcome.
    pub fn adds_up(&self) -> bool {
        self.inputs.values().sum::<u64>() == self.outcomes.values().sum::<u64>()
    }
}
