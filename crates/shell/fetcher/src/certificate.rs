//! The recorded state of a server's certificate.
//!
//! Does not depend on TLS.

use crate::closed_list::closed_list;

closed_list! {
    /// A server certificate's state.
    Certificate: "The stable name, in snake case."

    /// A known root issued it, for this name and this time.
    Verified = "verified",
    /// It has expired, or is not valid yet.
    Expired = "expired",
    /// It is self-signed.
    SelfSigned = "self_signed",
    /// It is for another name.
    WrongName = "wrong_name",
    /// It was not issued by a known root.
    UnknownIssuer = "unknown_issuer",
    /// It has another fault.
    Faulty = "faulty",
}
