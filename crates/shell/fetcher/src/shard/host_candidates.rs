//! A shard's input: hosts with the icon URLs that they name.
//!
//! Does not depend on where the candidates are from.

use everytab_webpage::Candidate;

/// A host and its candidates in canonical order. The number of a candidate is its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCandidates {
    /// The host's number in its shard.
    pub host_no: u32,
    /// The hostname, which is only used in logs.
    pub hostname: String,
    /// The candidates in canonical order.
    pub candidates: Vec<Candidate>,
}
