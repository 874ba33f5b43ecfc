//! Icons as bytes: sniffs, measures, decodes and scales them, and writes them as small PNGs.
//!
//! Owns what the bytes of an icon mean (`sniff`, `measure`, `decode`) and how a tab icon is made
//! (`scale`, `png`, `original`, `convert`), and the pictures of the map (`thumbnail`, `mosaic`).
//! Every function is pure and gives the same result on every machine; `test_vectors` computes the
//! digests by which machines compare. Must not know: files, network, Postgres, clocks, settings,
//! bundles, or where an icon came from.

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
