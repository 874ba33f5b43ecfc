//! Processes icons: detects their format, measures, decodes and scales them, and writes small PNGs.
//!
//! Every function is pure. A build gives the same results on all machines that have the same libm.

pub mod convert;
pub mod decode;
mod decoders;
pub mod error;
mod format;
pub mod inspect;
pub mod limits;
mod little_endian;
pub mod measure;
pub mod mosaic;
mod original;
pub mod picture;
pub mod pixels;
pub mod png;
pub mod scale;
pub mod sniff;
pub mod test_vectors;
pub mod thumbnail;
pub mod tint;
pub mod work;

pub use decoders::{svg::svg_work, svg_work::MAX_WORK as MAX_SVG_WORK};
pub use error::IconError;
pub use format::Format;
pub use measure::Measured;
pub use pixels::Pixels;

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
