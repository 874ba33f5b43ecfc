//! An Ed25519 key: reads it from a file, writes it to a file, and computes the ID of its public
//! half.

use std::fmt;

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    signature::{Ed25519KeyPair, KeyPair},
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use sha2::{Digest, Sha256};

/// Columns per line of base64 in a PEM file (RFC 7468).
const PEM_COLUMNS: usize = 64;

/// The key that signs requests. Its `Debug` output does not show the private half.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public_key: [u8; 32],
    key_id: String,
}

/// Why a key cannot be used. The message contains no part of the input.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// The input contains no private key in PEM.
    #[error(
        "contains no private key; a file of `everytab-worker signing-key new` starts with \
             -----BEGIN PRIVATE KEY-----"
    )]
    NoPem,
    /// The key is not an Ed25519 key.
    #[error("the private key is not Ed25519; create one with `everytab-worker signing-key new`")]
    NotEd25519,
    /// The system returned no random bytes.
    #[error("cannot create a key: the system returns no random bytes")]
    NoRandomBytes,
}

impl SigningKey {
    /// Generates a key. Also returns the content of its file, PKCS #8 in PEM as written by OpenSSL.
    ///
    /// # Errors
    /// Returns an error if the system has no random bytes.
    pub fn generate() -> Result<(Self, String), SigningKeyError> {
        let pair = Ed25519KeyPair::generate().map_err(|_| SigningKeyError::NoRandomBytes)?;
        let der: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| SigningKeyError::NoRandomBytes)?;
        let base64 = STANDARD.encode(der.as_ref());
        let mut pem = "-----BEGIN PRIVATE KEY-----\n".to_owned();
        for line in base64.as_bytes().chunks(PEM_COLUMNS) {
            pem.extend(line.iter().copied().map(char::from));
            pem.push('\n');
        }
        pem.push_str("-----END PRIVATE KEY-----\n");
        Ok((Self::of(pair)?, pem))
    }

    /// Reads a key from its file's content.
    ///
    /// # Errors
    /// Returns an error if there is no private key, or only keys that are not Ed25519.
    pub fn from_pem(text: &[u8]) -> Result<Self, SigningKeyError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(text).map_err(|_| SigningKeyError::NoPem)?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der());
        Self::of(pair.map_err(|_| SigningKeyError::NotEd25519)?)
    }

    fn of(pair: Ed25519KeyPair) -> Result<Self, SigningKeyError> {
        let public_key: [u8; 32] =
            pair.public_key().as_ref().try_into().map_err(|_| SigningKeyError::NotEd25519)?;
        // RFC 8037 requires these members, and RFC 7638 defines their order and form.
        let x = URL_SAFE_NO_PAD.encode(public_key);
        let canonical = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        let key_id = URL_SAFE_NO_PAD.encode(Sha256::digest(canonical));
        Ok(Self { pair, public_key, key_id })
    }

    /// Returns the key's ID: the SHA-256 thumbprint of its public half as a JWK (RFC 7638, 8037),
    /// in base64url.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Returns the public half.
    #[must_use]
    pub const fn public_key(&self) -> [u8; 32] {
        self.public_key
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> String {
        STANDARD.encode(self.pair.sign(bytes).as_ref())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From RFC 9421, appendix B.1.4.
    pub(crate) const RFC_KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n\
        -----END PRIVATE KEY-----\n";

    #[test]
    fn a_key_of_the_standard_has_the_public_half_and_the_thumbprint_of_the_drafts() {
        let key = SigningKey::from_pem(RFC_KEY.as_bytes()).expect("a key");
        let x = URL_SAFE_NO_PAD.encode(key.public_key());
        assert_eq!(x, "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs");
        assert_eq!(key.key_id(), "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U");
    }

    #[test]
    fn a_key_is_read_back_from_its_file_and_never_printed() {
        let (key, pem) = SigningKey::generate().expect("random bytes");
        let read = SigningKey::from_pem(pem.as_bytes()).expect("a key");
        assert_eq!((read.key_id(), read.public_key()), (key.key_id(), key.public_key()));
        let secret = pem.lines().nth(1).expect("base64");
        assert!(!format!("{key:?}").contains(secret));
        assert_ne!(SigningKey::generate().expect("random bytes").0.key_id(), key.key_id());
        for (wrong, said) in [
            (format!("key {secret}"), "no private key"),
            (pem.replace("PRIVATE", "PUBLIC"), "no private key"),
            (pem.replace("MC4CAQAwBQYDK2Vw", "MC4CAQAwBQYDK2Vv"), "not Ed25519"),
        ] {
            let error = SigningKey::from_pem(wrong.as_bytes()).expect_err("refused").to_string();
            assert!(error.contains(said) && !error.contains(secret), "{error}");
        }
    }
}
