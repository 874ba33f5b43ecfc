//! Writes PNG files: the smallest file for given pixels, without metadata.
//!
//! `encode` is the entry point. `quantize` merges colours if the `difference` is invisible,
//! `reduce` chooses how to store the pixels by counting their colours (`census`), `packed` and
//! `filter` create the rows. `format` contains what the reader in `decoders` also needs.

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
