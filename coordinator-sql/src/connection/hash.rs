//! Hashes as Postgres stores them.

/// Flips the sign bit, so that stored signed integers sort like the unsigned hashes.
pub(crate) fn signed_hash(hash: u64) -> i64 {
    (hash ^ (1 << 63)).cast_signed()
}

pub(crate) fn unsigned_hash(hash: i64) -> u64 {
    hash.cast_unsigned() ^ (1 << 63)
}
