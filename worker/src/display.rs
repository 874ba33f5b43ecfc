//! The display on a terminal while a scan runs: a frame of lines that is repainted in place.
//!
//! Does not depend on the content of the lines.

pub mod frame;
