//! Writes PNG files without metadata.

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
