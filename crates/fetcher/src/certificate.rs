//! What is recorded about the certificate of a server.
//!
//! Must not know: TLS.

use crate::closed_list::closed_list;

closed_list! {
    /// What was found about a server's certificate.
    Certificate: "The stable name, in snake case."

    /// A known root vouches for it, for this name and at this time.
    Verified = "verified",
    /// Its period of validity is over, or has not begun.
    Expired = "expired",
    /// It is self-signed.
    SelfSigned = "self_signed",
    /// It is for another name.
    WrongName = "wrong_name",
    /// No known root vouches for it.
    UnknownIssuer = "unknown_issuer",
    /// It has another fault.
    Faulty = "faulty",
}
