//! What is recorded about the certificate of a server.
//!
//! Must not know: TLS.

/// What was found about a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certificate {
    /// A known root vouches for it, for this name and at this time.
    Verified,
    /// Its period of validity is over, or has not begun.
    Expired,
    /// It is self-signed.
    SelfSigned,
    /// It is for another name.
    WrongName,
    /// No known root vouches for it.
    UnknownIssuer,
    /// It has another fault.
    Faulty,
}

impl Certificate {
    /// The stable name, in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Expired => "expired",
            Self::SelfSigned => "self_signed",
            Self::WrongName => "wrong_name",
            Self::UnknownIssuer => "unknown_issuer",
            Self::Faulty => "faulty",
        }
    }
}
