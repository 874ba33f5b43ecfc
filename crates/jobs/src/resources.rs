//! Resources that jobs use on a worker, for planning a scan and checking a host.
//!
//! Each number is defined next to the code that it limits; this module re-exports those that others
//! calculate with.

pub use crate::{
    icon::SPOOL_BYTES,
    warc::{CONCURRENT_JOBS as CONCURRENT_WARC_JOBS, CONCURRENT_RECORDS},
};
