//! Compresses bytes in memory as one gzip member (RFC 1952).
//!
//! Invariant: the member depends only on the bytes, because it has no time and no name.

use libdeflater::{CompressionLvl, Compressor};

/// Compresses `bytes` as one member.
pub(crate) fn gzip_member(bytes: &[u8]) -> Vec<u8> {
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut member = vec![0; compressor.gzip_compress_bound(bytes.len())];
    let length = compressor
        .gzip_compress(bytes, &mut member)
        .expect("libdeflate fails only where the output is smaller than its bound");
    member.truncate(length);
    member
}
