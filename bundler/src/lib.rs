//! Icons to small PNGs, tabs to bundles: bytes in, values out.
//!
//! Owns what an icon's bytes mean (`sniff`, `measure`, `decode`), how a tab icon is made
//! (`scale`, `png_out`, `original`, `convert`), which icon of a host is best (`select`, the twin of
//! the SQL), and how tabs become bundle files (`layout`, `title`, `bundle`). Everything is a pure
//! function, the same on every machine: `test_vectors` gives the digest by which machines compare.
//! Must not know files, network, Postgres, clocks or settings.

pub mod bundle;
pub mod convert;
pub mod decode;
pub mod error;
pub mod inspect;
pub mod layout;
pub mod measure;
mod original;
pub mod pixels;
pub mod png_out;
pub mod preview;
pub mod scale;
pub mod select;
pub mod sniff;
pub mod test_vectors;
pub mod title;

pub use error::IconError;
pub use measure::Measured;
pub use pixels::Pixels;
pub use sniff::Format;
