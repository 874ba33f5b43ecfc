//! Scans: the input that their jobs load, the rows that these jobs record, and operators' calls.

mod complete;
pub(crate) mod exclusions;
mod host_requests;
pub(crate) mod load;
mod record;
pub(crate) mod removed_host;
pub(crate) mod rows;
pub(crate) mod scans;
pub(crate) mod status;
