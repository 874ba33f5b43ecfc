//! Codes that only the holder of a key and this service can make.
//!
//! A code is the beginning of SHA-256 over the hash of the key's secret and what is said; nobody
//! who lacks the secret can make one, and a code of one key is none of another. (What is said has
//! a fixed beginning and a fixed length or its length in it, so that a longer text cannot follow.)
//! Must not know: what is said.

use sha2::{Digest as _, Sha256};

/// The code of some parts, as a whole digest, of which callers take the beginning. What was cut
/// off of a digest cannot be extended.
pub(crate) fn code_of(secret_sha256: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new_with_prefix(secret_sha256);
    for part in parts {
        digest.update(part);
    }
    digest.finalize().into()
}

/// Compares in a time that depends on the length alone.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |found, (a, b)| found | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}
