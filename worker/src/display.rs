//! The display on a terminal while a scan runs: a frame of lines that is repainted in place.
//!
//! This does not depend on the lines' content.

pub mod frame;
