//! Compares a scan's outcomes with the previous scan's, by their shares, because these can be
//! compared even while this scan is running.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use everytab_coordinator::{JobKind, ScanStatus};
use serde_json::{Value, json};

/// Minimum number of outcomes per stage and scan. With fewer outcomes, shares differ by chance.
const MIN_OUTCOMES: u64 = 100;
/// A share is unusual if it differs by more percentage points than this.
const MAX_DIFFERENCE: f64 = 20.0;
/// A share is also unusual if it has at least doubled or halved, and differs by this many
/// percentage points.
const MIN_DIFFERENCE: f64 = 5.0;

/// An outcome whose share in its stage is unusual.
#[derive(Debug, Clone, PartialEq)]
pub struct Unlike {
    /// The outcome's stage.
    pub stage: JobKind,
    /// The outcome's name.
    pub outcome: String,
    /// The share in this scan, in percent.
    pub percent: f64,
    /// The share in the previous scan, in percent.
    pub percent_before: f64,
}

impl Unlike {
    /// Returns the JSON that `scan status --json` prints.
    pub fn to_json(&self) -> Value {
        json!({
            "kind": self.stage,
            "outcome": self.outcome,
            "percent": self.percent,
            "percent_before": self.percent_before,
        })
    }
}

impl fmt::Display for Unlike {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stage, outcome, percent, percent_before } = self;
        write!(formatter, "{stage} {outcome}: {percent:.1} %, {percent_before:.1} % before")
    }
}

/// Returns the unusual outcomes, by stage and name.
pub fn unlike(status: &ScanStatus) -> Vec<Unlike> {
    let Some(before) = &status.before else { return Vec::new() };
    let mut found = Vec::new();
    for (&stage, sections) in &status.outcomes {
        let Some(earlier) = before.outcomes.get(&stage) else { continue };
        let (now, earlier) = (Shares(&sections.outcomes), Shares(earlier));
        if now.total().min(earlier.total()) < MIN_OUTCOMES {
            continue;
        }
        let names: BTreeSet<&String> = now.0.keys().chain(earlier.0.keys()).collect();
        for name in names {
            let (percent, percent_before) = (now.percent(name), earlier.percent(name));
            if is_unlike(percent, percent_before) {
                let outcome = name.clone();
                found.push(Unlike { stage, outcome, percent, percent_before });
            }
        }
    }
    found
}

fn is_unlike(percent: f64, before: f64) -> bool {
    let difference = (percent - before).abs();
    let is_double = percent.max(before) >= 2.0 * percent.min(before);
    difference > MAX_DIFFERENCE || is_double && difference >= MIN_DIFFERENCE
}

struct Shares<'a>(&'a BTreeMap<String, i64>);

impl Shares<'_> {
    fn total(&self) -> u64 {
        self.0.values().map(|amount| amount.unsigned_abs()).sum()
    }

    fn percent(&self, name: &str) -> f64 {
        let amount = self.0.get(name).map_or(0, |amount| amount.unsigned_abs());
        amount as f64 * 100.0 / self.total().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_out_of_line_from_a_fifth_of_all_or_if_it_doubles_and_gains_five_points() {
        for (percent, before, expected) in [
            (99.4, 3.0, true),
            (3.0, 99.4, true),
            (60.0, 39.9, true),
            (60.0, 40.0, false),
            (10.0, 5.0, true),
            (5.0, 10.0, true),
            (5.0, 0.0, true),
            (4.9, 0.0, false),
            (9.0, 4.5, false),
            (14.0, 7.1, false),
            (50.0, 50.0, false),
            (0.0, 0.0, false),
        ] {
            assert_eq!(is_unlike(percent, before), expected, "{percent} after {before}");
        }
    }
}
