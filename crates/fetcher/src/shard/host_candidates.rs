//! The input of a shard: hosts and the icon URLs that they name.
//!
//! Must not know: where they come from.

use everytab_webpage::Candidate;

/// A host and its candidates in canonical order. The number of a candidate is its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCandidates {
    /// The number of the host in its shard.
    pub host_no: u32,
    /// The hostname, which is used in logs only.
    pub hostname: String,
    /// The candidates in canonical order.
    pub candidates: Vec<Candidate>,
}
