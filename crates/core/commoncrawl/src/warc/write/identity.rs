//! Computes digests and record ids from record contents only, so that identical responses yield
//! identical archives.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 digest of the concatenated parts as `sha256:` and 64 lower-case hexadecimal
/// digits.
pub fn sha256_digest(parts: &[&[u8]]) -> String {
    format!("sha256:{}", hex::encode(sha256(parts)))
}

/// Returns a record id, `urn:uuid:` and a version 8 UUID (RFC 9562 5.8), that depends only on the
/// arguments.
pub fn record_id(kind: &str, target_uri: &str, date_micros: i64, payload_digest: &str) -> String {
    let date = date_micros.to_be_bytes();
    let parts = [kind.as_bytes(), target_uri.as_bytes(), &date, payload_digest.as_bytes()];
    // Prefix each part with its length so that different parts cannot yield the same bytes.
    let lengths = parts.map(|part| (part.len() as u64).to_be_bytes());
    let mut all: Vec<&[u8]> = Vec::with_capacity(8);
    for (part, length) in parts.iter().zip(&lengths) {
        all.extend([length.as_slice(), part]);
    }
    let mut bits = [0_u8; 16];
    bits.iter_mut().zip(sha256(&all)).for_each(|(bit, byte)| *bit = byte);
    bits[6] = bits[6] & 0x0f | 0x80;
    bits[8] = bits[8] & 0x3f | 0x80;
    let hex = hex::encode(bits);
    let group = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "urn:uuid:{}-{}-{}-{}-{}",
        group(0, 8),
        group(8, 12),
        group(12, 16),
        group(16, 20),
        group(20, 32)
    )
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_sha_256_in_hexadecimal() {
        // FIPS 180-4, "abc".
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_digest(&[b"a", b"", b"bc"]), abc);
    }

    #[test]
    fn an_id_is_a_version_8_uuid_that_depends_on_every_argument() {
        let id = record_id("response", "https://a.example/", 5, "sha256:00");
        assert_eq!(id, record_id("response", "https://a.example/", 5, "sha256:00"));
        assert_eq!(id.len(), "urn:uuid:".len() + 36);
        assert_eq!(id.as_bytes()["urn:uuid:".len() + 14], b'8');
        assert!(b"89ab".contains(&id.as_bytes()["urn:uuid:".len() + 19]));
        for other in [
            record_id("revisit", "https://a.example/", 5, "sha256:00"),
            record_id("response", "https://a.example/x", 5, "sha256:00"),
            record_id("response", "https://a.example/", 6, "sha256:00"),
            record_id("response", "https://a.example/", 5, "sha256:01"),
            record_id("response", "https://a.example/s", 5, "ha256:00"),
        ] {
            assert_ne!(id, other);
        }
    }
}
