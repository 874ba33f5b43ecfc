//! The host behaviours in the small internet, each with a stable name. A host's behaviour depends
//! on (seed, hostname), never on earlier requests.

use serde::{Deserialize, Serialize};

macro_rules! behaviours {
    ($($(#[$doc:meta])* $variant:ident,)+) => {
        /// A host's behaviour. Its name in snake case appears in counters and logs, and is stable.
        #[derive(
            Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Behaviour { $($(#[$doc])* $variant,)+ }

        impl Behaviour {
            /// Every behaviour, in declaration order.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant,)+];
        }
    };
}

behaviours! {
    /// The host responds immediately and correctly.
    Fine,
    /// The host responds correctly, each time after a delay that depends on the URL (300 ms to 1
    /// s).
    Slow,
    /// The name does not exist.
    DnsNxdomain,
    /// The name server responds with SERVFAIL.
    DnsServfail,
    /// The name exists and has no address.
    DnsNoAddress,
    /// The name server never responds for this name.
    DnsNeverAnswers,
    /// The name has a private address, alone or among public ones.
    DnsPrivateAddress,
    /// Connection requests are dropped, so that connecting times out.
    ConnectTimeout,
    /// Connecting works, but the host sends nothing.
    NeverAnswers,
    /// The host sends the head and half the body, and nothing more.
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
    /// The host responds with 404.
    NotFound,
    /// The host responds with 410.
    Gone,
    /// The host responds with 403.
    Forbidden,
    /// The host responds with 429, with a Retry-After: one second, two hours, or none.
    TooManyRequests,
    /// The host responds with 500.
    ServerError,
    /// The host responds with 503.
    Unavailable,
    /// The host responds with 200 and an HTML page instead of an icon.
    HtmlInsteadOfIcon,
    /// The host responds with 200 and an empty body.
    EmptyBody,
    /// The body has more than 512 KB, and Content-Length declares it.
    TooLarge,
    /// The body has more than 512 KB, and there is no Content-Length.
    TooLargeUnannounced,
    /// One to five redirects lead to the icon.
    RedirectChain,
    /// Six to nine redirects.
    RedirectTooMany,
    /// Redirects in a loop.
    RedirectLoop,
    /// A redirect to a private address.
    RedirectPrivate,
    /// A redirect to another host's icon.
    RedirectOtherHost,
    /// A redirect to a scheme other than http and https.
    RedirectBadScheme,
    /// The body starts with an image format's signature but is not an image.
    BrokenImage,
    /// Content-Length is larger than the body, and the connection ends after the body.
    LengthTooLong,
    /// Content-Length is smaller than the body.
    LengthTooShort,
    /// The body is encoded with gzip, and Content-Encoding declares it.
    Gzip,
    /// The icon has a wrong Content-Type, or none.
    WrongContentType,
    /// robots.txt disallows everything, but icons can be fetched.
    RobotsDisallow,
    /// robots.txt responds with 503, but icons can be fetched.
    RobotsUnavailable,
}

impl Behaviour {
    pub(crate) fn needs_http1(self) -> bool {
        matches!(self, Self::StallsInBody | Self::LengthTooLong | Self::LengthTooShort)
    }
}
