//! Signatures by which sites can tell our requests from those of impostors: HTTP Message Signatures
//! (RFC 9421) as Web Bot Auth uses them (draft-ietf-webbotauth-httpsig-protocol).
//!
//! Invariant: the private half of a key leaves this module in one way only, as the file that
//! [`SigningKey::generate`] is asked for. Must not know: where keys are kept, when to send what.

mod request_signer;
mod signing_key;

pub(crate) use request_signer::RequestSignature;
pub use request_signer::{RequestSigner, SignerError};
pub use signing_key::{SigningKey, SigningKeyError};
