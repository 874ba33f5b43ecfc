//! The display on a terminal while a scan runs.

pub mod frame;
