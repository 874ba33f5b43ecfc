//! Exclusions: what a running scan must ask nothing more of.

use chrono::{DateTime, Utc};

use crate::{
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    row::{from_row, values},
};

/// Something that was excluded from a running scan.
#[derive(Debug, Clone)]
pub struct ExclusionRow {
    /// Counts the exclusions of a scan, in the order in which they were made.
    pub version: i32,
    /// What the pattern is: hostname, suffix or network.
    pub kind: String,
    /// The hostname, the domain suffix, or the network as address/prefix.
    pub pattern: String,
    /// When it was excluded.
    pub excluded_at: DateTime<Utc>,
}

from_row!(ExclusionRow { version, kind, pattern, excluded_at });

impl Coordinator {
    /// Excludes patterns, each with its kind, from a running scan. Returns how many were new; none:
    /// the scan has ended.
    ///
    /// # Errors
    /// When Postgres refuses them.
    pub async fn exclude(
        &self,
        scan: i32,
        patterns: &[(&str, String)],
    ) -> Result<Option<i32>, Error> {
        let kinds: Vec<&str> = patterns.iter().map(|(kind, _)| *kind).collect();
        let patterns: Vec<&str> = patterns.iter().map(|(_, pattern)| pattern.as_str()).collect();
        let sql = "select coordinator.exclude($1, $2, $3)";
        self.operator_value(sql, &[bind(&scan), bind(&kinds), bind(&patterns)]).await
    }

    /// What was excluded from a scan after the version `after`, in order. The call has the
    /// connections of renewals: it must not wait behind a large completion.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn load_exclusions(&self, scan: i32, after: i32) -> Result<Vec<ExclusionRow>, Error> {
        let sql = "select * from coordinator.load_exclusions($1, $2)";
        values(&run(&self.renewals, sql, &[bind(&scan), bind(&after)]).await?)
    }

    /// Has the bundles that hold tabs of these hosts and domains written again, without them.
    /// Returns how many jobs are performed again.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn rebundle_excluded(
        &self,
        scan: i32,
        patterns: &[(&str, String)],
    ) -> Result<i32, Error> {
        let kinds: Vec<&str> = patterns.iter().map(|(kind, _)| *kind).collect();
        let patterns: Vec<&str> = patterns.iter().map(|(_, pattern)| pattern.as_str()).collect();
        let sql = "select coordinator.rebundle_excluded($1, $2, $3)";
        self.operator_value(sql, &[bind(&scan), bind(&kinds), bind(&patterns)]).await
    }
}
