//! The input of a shard: hosts with the icon URLs that they name.
//!
//! Does not depend on the source of the candidates.

use everytab_webpage::Candidate;

/// A host and its candidates in canonical order. The number of a candidate is its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCandidates {
    /// Number of the host in its shard.
    pub host_no: u32,
    /// The hostname, which is only used in logs.
    pub hostname: String,
    /// The candidates in canonical order.
    pub candidates: Vec<Candidate>,
}
