//! Counts of one completed job: inputs, outcomes and others.

use std::{collections::BTreeMap, fmt::Display};

use everytab_bundler::stats_names::{CountFamily, CountName, InputName};
use serde::Serialize;

/// Counts of one job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    inputs: BTreeMap<String, u64>,
    outcomes: BTreeMap<String, u64>,
    counts: BTreeMap<String, u64>,
}

impl Stats {
    /// Counts inputs of the job.
    pub fn input(&mut self, name: InputName, amount: u64) {
        *self.inputs.entry(name.as_str().into()).or_default() += amount;
    }

    /// Counts inputs with an outcome, by the outcome's stable name.
    pub fn outcome(&mut self, name: &str, amount: u64) {
        if amount > 0 {
            *self.outcomes.entry(name.into()).or_default() += amount;
        }
    }

    /// Adds to any other count.
    pub fn count(&mut self, name: CountName, amount: u64) {
        *self.counts.entry(name.as_str().into()).or_default() += amount;
    }

    /// Counts a value from an open list, such as an image format.
    pub fn count_member(&mut self, family: CountFamily, member: impl Display, amount: u64) {
        *self.counts.entry(family.name_of(member)).or_default() += amount;
    }

    /// Adds counts by name.
    pub fn count_all(&mut self, counts: impl IntoIterator<Item = (String, u64)>) {
        for (name, amount) in counts {
            *self.counts.entry(name).or_default() += amount;
        }
    }

    /// Returns the number of inputs by outcome.
    pub fn outcomes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.outcomes.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    /// Returns true if every input has exactly one outcome.
    pub fn adds_up(&self) -> bool {
        self.inputs.values().sum::<u64>() == self.outcomes.values().sum::<u64>()
    }
}
