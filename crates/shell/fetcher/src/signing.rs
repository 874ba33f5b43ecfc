//! Signatures that let sites distinguish our requests from an impostor's: HTTP Message Signatures
//! (RFC 9421) as used by Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol).
//!
//! The private half of a key leaves this module only as the file that [`SigningKey::generate`]
//! returns.

mod request_signer;
mod signing_key;

pub(crate) use request_signer::RequestSignature;
pub use request_signer::{RequestSigner, SignerError};
pub use signing_key::{SigningKey, SigningKeyError};
