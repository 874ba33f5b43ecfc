//! The states of a server's certificate that are recorded with a fetch.

use crate::closed_list::closed_list;

closed_list! {
    /// A server certificate's state.
    Certificate: "The stable name, in snake case."

    /// The certificate was issued by a known root for this name, and has not expired.
    Verified = "verified",
    /// The certificate has expired, or is not valid yet.
    Expired = "expired",
    /// The certificate is self-signed.
    SelfSigned = "self_signed",
    /// The certificate is for another name.
    WrongName = "wrong_name",
    /// The certificate was not issued by a known root.
    UnknownIssuer = "unknown_issuer",
    /// The certificate is missing or has another fault.
    Faulty = "faulty",
}
