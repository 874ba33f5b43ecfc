//! Icons as bytes: sniffing, measuring, decoding, scaling and writing them as small PNGs.
//!
//! Must not know: files, bundles, where an icon came from.
