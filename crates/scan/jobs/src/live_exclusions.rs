//! Exclusion lists for the scans whose icons this worker fetches. The worker updates a list while
//! jobs use it.

use std::collections::HashMap;

use everytab_coordinator::ExclusionRow;
use everytab_fetcher::{Exclusion, Exclusions};
use parking_lot::Mutex;

/// Exclusion lists by scan number, for the scans whose icons this worker fetches.
#[derive(Debug, Default)]
pub struct LiveExclusions {
    by_scan: Mutex<HashMap<i32, Exclusions>>,
}

impl LiveExclusions {
    pub(crate) fn of_scan(&self, scan: i32) -> Exclusions {
        self.by_scan.lock().entry(scan).or_default().clone()
    }

    /// Returns the lists that jobs use now, and drops the others.
    pub fn held(&self) -> Vec<(i32, Exclusions)> {
        let mut by_scan = self.by_scan.lock();
        by_scan.retain(|_, exclusions| exclusions.is_shared());
        by_scan.iter().map(|(scan, exclusions)| (*scan, exclusions.clone())).collect()
    }
}

/// Adds rows from Postgres to a list.
pub fn add_rows(exclusions: &Exclusions, rows: Vec<ExclusionRow>) {
    let Some(version) = rows.iter().map(|row| row.version).max() else { return };
    exclusions.add(rows.into_iter().filter_map(exclusion), version);
}

fn exclusion(row: ExclusionRow) -> Option<Exclusion> {
    match row.kind.as_str() {
        "hostname" => Some(Exclusion::Hostname(row.pattern)),
        "suffix" => Some(Exclusion::Suffix(row.pattern)),
        _ => match row.pattern.parse() {
            Ok(network) => Some(Exclusion::Network(network)),
            Err(_) => {
                tracing::error!(
                    kind = row.kind,
                    pattern = row.pattern,
                    "ignoring a malformed exclusion"
                );
                None
            }
        },
    }
}
