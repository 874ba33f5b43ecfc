//! Hosts and networks to which a running scan must not send further requests.

use chrono::{DateTime, Utc};

use crate::{
    client::{coordinator::Coordinator, patient::parts, sql_calls::sql_calls},
    connection::{
        bind::bind,
        call::run_polled,
        row::{from_row, values},
    },
    error::Error,
};

/// A pattern that was excluded from a running scan.
#[derive(Debug, Clone)]
pub struct ExclusionRow {
    /// Number of the exclusion in its scan, in order of creation.
    pub version: i32,
    /// The kind of pattern: `hostname`, `suffix` or `network`.
    pub kind: String,
    /// A hostname, a domain suffix, or a network as `address/prefix`.
    pub pattern: String,
    /// Exclusion time.
    pub excluded_at: DateTime<Utc>,
}

from_row!(ExclusionRow { version, kind, pattern, excluded_at });

sql_calls! {
    /// Excludes patterns, each with its kind, from a running scan. Returns how many were new.
    /// `None` if the scan has finished.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects a pattern.
    pub async fn exclude(scan: i32, patterns: &[(&str, String)]) -> Result<Option<i32>, Error>
        = operator_value(
            "select coordinator.exclude($1, $2, $3)",
            scan, patterns.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            patterns.iter().map(|(_, pattern)| pattern.as_str()).collect::<Vec<_>>(),
        );
}

impl Coordinator {
    /// Returns a scan's exclusions with versions above `after`, on the connection for renewals, so
    /// that this does not wait behind a large completion.
    pub async fn load_exclusions(&self, scan: i32, after: i32) -> Result<Vec<ExclusionRow>, Error> {
        let sql = "select * from coordinator.load_exclusions($1, $2)";
        values(&run_polled(&self.renewals, sql, &[bind(&scan), bind(&after)]).await?)
    }

    /// Runs bundle jobs again without the tabs of these hosts and domains, and returns their
    /// number.
    pub async fn rebundle_excluded(
        &self,
        scan: i32,
        patterns: &[(&str, String)],
    ) -> Result<i32, Error> {
        let kinds: Vec<&str> = patterns.iter().map(|(kind, _)| *kind).collect();
        let patterns: Vec<&str> = patterns.iter().map(|(_, pattern)| pattern.as_str()).collect();
        let sql = "select coordinator.shards_with_hosts($1, $2, $3)";
        let parameters = [bind(&scan), bind(&kinds), bind(&patterns)];
        let shards: Vec<i32> = self.operator_value(sql, &parameters).await?;
        let mut again = 0;
        for shards in parts(&shards) {
            let sql = "select coordinator.rebundle_shards($1, $2)";
            let shards = shards.to_vec();
            again += self.patient_value::<i32>(sql, &[bind(&scan), bind(&shards)]).await?;
        }
        Ok(again)
    }
}
