//! Authentication codes that only the holder of a key and this service can compute.
//!
//! A code is a prefix of the SHA-256 of the key's secret hash followed by the message, so it cannot
//! be forged without the secret and is valid for one key only. A message has a fixed prefix, and a
//! fixed length or its own length in it, so that a longer message cannot be appended. This does not
//! depend on what a message contains.

use sha2::{Digest as _, Sha256};

/// Computes the code of a message's parts, as a whole digest. Callers use a prefix of it, because a
/// truncated digest cannot be extended to that of a longer message.
pub(crate) fn code_of(secret_sha256: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new_with_prefix(secret_sha256);
    for part in parts {
        digest.update(part);
    }
    digest.finalize().into()
}

/// Compares two byte strings in a time that depends only on their lengths.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |found, (a, b)| found | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}
