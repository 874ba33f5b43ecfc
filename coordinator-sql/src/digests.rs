//! Digests of the worker's code, and the runs that require other digests.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{error::Error, row::from_row, sql_calls::sql_calls};

/// Digests of the worker's code. The worker's output depends on this code in addition to its input.
/// A run fixes the digests that it requires. If a worker's digest differs, it leases no jobs of the
/// kinds that need this digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// Digest of the icons that the worker's encoder makes from the test vectors, in hexadecimal.
    /// Jobs of the kind `bundle-shard` need this digest.
    pub encoder: String,
}

impl Digests {
    /// Returns the digests as the JSON object that the SQL functions read.
    pub(crate) fn json(&self) -> Value {
        json!({"encoder": self.encoder})
    }
}

/// A run that requires another digest than this worker has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldRun {
    /// The id of the run's scan or live crawl.
    pub scan_id: Uuid,
    /// The digest's name, such as `encoder`.
    pub digest: String,
    /// The digest that the run requires.
    pub wanted: String,
    /// The worker's digest. `None` if the worker has no digest with this name.
    pub offered: Option<String>,
    /// The kinds whose jobs the worker does not lease.
    pub kinds: Vec<String>,
}

from_row!(WithheldRun { scan_id, digest, wanted, offered, kinds });

sql_calls! {
    /// Returns the runs from which a worker with these digests does not lease some kinds of jobs.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn withheld_runs(digests: &Digests) -> Result<Vec<WithheldRun>, Error>
        = rows("select * from coordinator.withheld_runs($1)", digests.json());
}
