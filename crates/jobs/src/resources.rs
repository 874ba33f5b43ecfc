//! What jobs take of a worker, for the programs that plan a scan or check a machine.
//!
//! Each number stands beside the code that it limits; here are those that others count with.

pub use crate::{
    icon::SPOOL_BYTES,
    warc::{CONCURRENT_JOBS as CONCURRENT_WARC_JOBS, CONCURRENT_RECORDS},
};
