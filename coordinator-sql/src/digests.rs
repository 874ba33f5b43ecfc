//! The digests of a worker's code on which its output depends, and the runs that require others.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{error::Error, row::from_row, sql_calls::sql_calls};

/// Digests of a worker's code, on which its output depends in addition to the input. A run fixes
/// the digests that it requires, and a worker with a different one leases no jobs of the kinds that
/// need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// The digest of the icons that the worker's encoder makes from the test vectors, in
    /// hexadecimal; bundle-shard jobs need it.
    pub encoder: String,
}

impl Digests {
    /// Returns the digests as the JSON document that the SQL functions read.
    pub(crate) fn json(&self) -> Value {
        json!({"encoder": self.encoder})
    }
}

/// A run that requires a different digest than the worker's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldRun {
    /// The id of the run's scan or live crawl.
    pub scan_id: Uuid,
    /// The digest's name, such as `encoder`.
    pub digest: String,
    /// The digest that the run requires.
    pub wanted: String,
    /// The worker's digest. `None` if the worker does not know this name.
    pub offered: Option<String>,
    /// The kinds of jobs that the worker does not lease.
    pub kinds: Vec<String>,
}

from_row!(WithheldRun { scan_id, digest, wanted, offered, kinds });

sql_calls! {
    /// Returns the runs from which a worker with these digests does not lease jobs of some kinds.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn withheld_runs(digests: &Digests) -> Result<Vec<WithheldRun>, Error>
        = rows("select * from coordinator.withheld_runs($1)", digests.json());
}
