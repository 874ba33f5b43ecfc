//! What a person sees on a terminal while a scan runs: a frame of lines that is painted over
//! itself.
//!
//! Must not know: what the lines say.

pub mod frame;
