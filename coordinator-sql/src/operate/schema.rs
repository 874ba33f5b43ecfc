//! The embedded SQL files and their digest.

use sha2::{Digest, Sha256};

include!(concat!(env!("OUT_DIR"), "/sql.rs"));

/// Returns the digest of this program's migrations, functions and grants, as 16 hexadecimal digits.
/// Programs with equal digests can share a database.
pub fn schema_digest() -> String {
    let mut digest = Sha256::new();
    for (name, text) in MIGRATIONS.iter().chain(FUNCTIONS) {
        digest.update(name.as_bytes());
        digest.update([0]);
        digest.update(text.as_bytes());
        digest.update([0]);
    }
    digest.update(GRANTS.as_bytes());
    hex::encode(&digest.finalize()[..8])
}

/// Returns the names of the migrations, in order.
pub fn migrations() -> Vec<&'static str> {
    MIGRATIONS.iter().map(|(name, _)| *name).collect()
}
