//! The closed list of behaviours of a host in the small internet, each with a stable name.
//!
//! A host has exactly one behaviour, chosen from the mix by (seed, hostname), so that an answer
//! never depends on earlier requests. Must not know how a behaviour is implemented.

use serde::{Deserialize, Serialize};

macro_rules! behaviours {
    ($($(#[$doc:meta])* $variant:ident,)+) => {
        /// The behaviour of a host. The names in snake case are stable; counters and logs use them.
        #[derive(
            Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Behaviour { $($(#[$doc])* $variant,)+ }

        impl Behaviour {
            /// Every behaviour, in the order of declaration.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant,)+];
        }
    };
}

behaviours! {
    /// The host answers immediately and correctly.
    Fine,
    /// Correct answers, each after a delay that the URL decides (300 ms to 1 s).
    Slow,
    /// The name does not exist.
    DnsNxdomain,
    /// The name server answers SERVFAIL.
    DnsServfail,
    /// The name exists and has no address.
    DnsNoAddress,
    /// The name server never answers for this name.
    DnsNeverAnswers,
    /// The name has a private address, alone or among public ones.
    DnsPrivateAddress,
    /// Connection requests are dropped: connecting times out.
    ConnectTimeout,
    /// Connecting works, but the host sends nothing.
    NeverAnswers,
    /// The host sends the head and half of the body, and nothing more.
    StallsInBody,
    /// Connecting is refused.
    Refused,
    /// Connecting works, and the host resets the connection immediately.
    Reset,
    /// https: the TLS handshake fails. http works.
    TlsHandshakeFailure,
    /// https: the certificate is for another name.
    CertificateWrongName,
    /// https: the certificate expired in 2021.
    CertificateExpired,
    /// https: the certificate is self-signed.
    CertificateSelfSigned,
    /// The host answers 404.
    NotFound,
    /// The host answers 410.
    Gone,
    /// The host answers 403.
    Forbidden,
    /// The host answers 429, with a Retry-After of one second, of two hours, or none.
    TooManyRequests,
    /// The host answers 500.
    ServerError,
    /// The host answers 503.
    Unavailable,
    /// The host answers 200 with an HTML page instead of an icon.
    HtmlInsteadOfIcon,
    /// The host answers 200 with an empty body.
    EmptyBody,
    /// The body has more than 512 KB, as Content-Length says.
    TooLarge,
    /// The body has more than 512 KB, and there is no Content-Length.
    TooLargeUnannounced,
    /// One to five redirects, then the icon.
    RedirectChain,
    /// Six to nine redirects.
    RedirectTooMany,
    /// Redirects in a loop.
    RedirectLoop,
    /// A redirect to a private address.
    RedirectPrivate,
    /// A redirect to an icon of another host.
    RedirectOtherHost,
    /// A redirect to a scheme other than http and https.
    RedirectBadScheme,
    /// The body begins with the signature of an image format but is no image.
    BrokenImage,
    /// Content-Length is larger than the body; the connection ends after the body.
    LengthTooLong,
    /// Content-Length is smaller than the body.
    LengthTooShort,
    /// The body is encoded with gzip, as Content-Encoding says.
    Gzip,
    /// The icon has a wrong Content-Type, or none.
    WrongContentType,
    /// robots.txt disallows everything; icons are fine.
    RobotsDisallow,
    /// robots.txt is answered with 503; icons are fine.
    RobotsUnavailable,
}

impl Behaviour {
    /// True if HTTP/2 cannot carry the fault (wrong lengths).
    pub(crate) fn needs_http1(self) -> bool {
        matches!(self, Self::StallsInBody | Self::LengthTooLong | Self::LengthTooShort)
    }
}
