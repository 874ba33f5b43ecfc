//! Icons as bytes: sniffing, measuring, decoding, scaling and writing them as small PNGs.
//!
//! Owns what an icon's bytes mean (`sniff`, `measure`, `decode`) and how a tab icon is made
//! (`scale`, `png`, `original`, `convert`). Everything is a pure function, the same on every
//! machine: `test_vectors` gives the digest by which machines compare.
//! Must not know: files, network, Postgres, clocks, settings, bundles, where an icon came from.

pub mod convert;
pub mod decode;
pub mod error;
pub mod inspect;
pub mod measure;
mod original;
pub mod pixels;
pub mod png;
pub mod scale;
pub mod sniff;
pub mod test_vectors;

pub use error::IconError;
pub use measure::Measured;
pub use pixels::Pixels;
pub use sniff::Format;
