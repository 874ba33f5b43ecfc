//! What is recorded about the certificate of a server.
//!
//! Must not know: TLS.

macro_rules! certificates {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// What was found about a server's certificate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Certificate {
            $($(#[$doc])+ $variant,)+
        }

        impl Certificate {
            /// Everything that may be found.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable name, in snake case.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

certificates! {
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
