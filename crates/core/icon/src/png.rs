//! Writes PNG files: the smallest file for given pixels, without metadata.
//!
//! `encode` contains the public functions, and `colours` their setting. `quantize` merges colours,
//! and `difference` decides whether this is visible. `reduce` chooses how to store the pixels,
//! based on the colours that `census` counts. `packed` and `filter` create the rows. `format`
//! contains the parts of the file format that `decoders` also needs.

mod census;
mod colours;
mod difference;
mod encode;
mod filter;
pub(crate) mod format;
mod packed;
mod quantize;
mod reduce;

pub use colours::Colours;
pub use difference::Difference;
pub use encode::{encode, encode_by, encode_with};
