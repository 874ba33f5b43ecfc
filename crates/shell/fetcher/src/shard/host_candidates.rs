//! The input of a shard: hosts and their icon candidates.

use everytab_webpage::Candidate;

/// A host and its icon candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCandidates {
    /// The host's number in its shard.
    pub host_no: u32,
    /// The hostname. The fetcher does not use it for requests.
    pub hostname: String,
    /// The candidates in canonical order. A candidate's number is its index here.
    pub candidates: Vec<Candidate>,
}
