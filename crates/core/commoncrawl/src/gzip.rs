//! Compresses bytes as a gzip member (RFC 1952) without time and name, so that identical input
//! yields identical bytes.

use libdeflater::{CompressionLvl, Compressor};

pub(crate) fn gzip_member(bytes: &[u8]) -> Vec<u8> {
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut member = vec![0; compressor.gzip_compress_bound(bytes.len())];
    let length = compressor
        .gzip_compress(bytes, &mut member)
        .expect("libdeflate fails only if the buffer is smaller than its bound");
    member.truncate(length);
    member
}
