//! What a worker's output depends on besides its input, and the runs that want something else.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    row::{FromRow as _, from_row},
};

/// What the output of a worker's jobs depends on besides their input. A run fixes the digests that
/// it wants, and a worker that differs in one of them leases no jobs of the kinds that need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// The digest of the icons that the worker's encoder makes of the test vectors, in hexadecimal;
    /// bundle-shard jobs need it.
    pub encoder: String,
}

impl Digests {
    /// The digests as the JSON document that the SQL functions read.
    pub(crate) fn json(&self) -> Value {
        json!({"encoder": self.encoder})
    }
}

/// A run that wants another digest than the worker's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldRun {
    /// The id of the scan or the live crawl that the run is about.
    pub scan_id: Uuid,
    /// The digest's name, such as `encoder`.
    pub digest: String,
    /// The digest that the run wants.
    pub wanted: String,
    /// The worker's digest; none where the worker does not know this name.
    pub offered: Option<String>,
    /// The kinds of job that the worker does not lease.
    pub kinds: Vec<String>,
}

from_row!(WithheldRun { scan_id, digest, wanted, offered, kinds });

impl Coordinator {
    /// The runs of which a worker with these digests leases no jobs of some kinds.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn withheld_runs(&self, digests: &Digests) -> Result<Vec<WithheldRun>, Error> {
        let digests = digests.json();
        let sql = "select * from coordinator.withheld_runs($1)";
        run(&self.work, sql, &[bind(&digests)]).await?.iter().map(WithheldRun::from_row).collect()
    }
}
