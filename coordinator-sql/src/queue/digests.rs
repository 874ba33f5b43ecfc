//! Digests of the worker's code, and the runs that require other digests.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{client::sql_calls::sql_calls, connection::row::from_row, error::Error};

/// Digests of the worker's code, on which its output depends. A worker leases no jobs that need
/// another digest than its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// Digest, in hexadecimal, of the icons that the worker's encoder makes from the test vectors.
    pub encoder: String,
}

impl Digests {
    pub(crate) fn json(&self) -> Value {
        json!({"encoder": self.encoder})
    }
}

/// A run that requires another digest than this worker has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldRun {
    /// The id of its scan or live crawl.
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
    /// Returns the runs from which a worker with these digests does not lease every kind.
    pub async fn withheld_runs(digests: &Digests) -> Result<Vec<WithheldRun>, Error>
        = rows("select * from coordinator.withheld_runs($1)", digests.json());
}
