//! The ways a host of the small internet can behave, each under a stable name.
//!
//! A host has exactly one behaviour, drawn from the mix by (seed, hostname), so what a request
//! gets never depends on the requests before it. Must not know how a behaviour is carried out.

use serde::{Deserialize, Serialize};

macro_rules! behaviours {
    ($($(#[$doc:meta])* $variant:ident,)+) => {
        /// How a host behaves. Names in snake case are stable; counters and logs use them.
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
    /// Answers at once with what was asked for.
    Fine,
    /// Fine, but each answer comes after a time fixed by the URL (300 ms to 1 s).
    Slow,
    /// The name does not exist.
    DnsNxdomain,
    /// The name's servers fail.
    DnsServfail,
    /// The name exists and has no address.
    DnsNoAddress,
    /// The name server never answers for this name.
    DnsNeverAnswers,
    /// The name has only a private address, or a private one among others.
    DnsPrivateAddress,
    /// Connection requests are dropped: connecting times out.
    ConnectTimeout,
    /// Connecting works; nothing is ever sent.
    NeverAnswers,
    /// The answer's head and some of its body come; the rest never does.
    StallsInBody,
    /// Connecting is refused.
    Refused,
    /// Connecting works and the connection is reset at once.
    Reset,
    /// https: the handshake fails. http works.
    TlsHandshakeFailure,
    /// https: a certificate for another name.
    CertificateWrongName,
    /// https: a certificate that ended in 2021.
    CertificateExpired,
    /// https: a certificate nobody vouches for.
    CertificateSelfSigned,
    /// 404.
    NotFound,
    /// 410.
    Gone,
    /// 403.
    Forbidden,
    /// 429, with a Retry-After that differs by host: none, one second, two hours.
    TooManyRequests,
    /// 500.
    ServerError,
    /// 503.
    Unavailable,
    /// 200 with an HTML page where an icon was asked for.
    HtmlInsteadOfIcon,
    /// 200 with nothing in it.
    EmptyBody,
    /// More than 512 KB, and Content-Length says so.
    TooLarge,
    /// More than 512 KB with no Content-Length.
    TooLargeUnannounced,
    /// One to five redirects, then the icon.
    RedirectChain,
    /// Six to nine redirects.
    RedirectTooMany,
    /// Redirects that go round.
    RedirectLoop,
    /// A redirect to a private address.
    RedirectPrivate,
    /// A redirect to an icon of another host.
    RedirectOtherHost,
    /// A redirect to a scheme that is not the web's.
    RedirectBadScheme,
    /// Bytes that begin as an image and are none.
    BrokenImage,
    /// Content-Length is more than what comes; then the connection ends.
    LengthTooLong,
    /// Content-Length is less than what comes.
    LengthTooShort,
    /// The body is gzip-encoded and says so.
    Gzip,
    /// The icon comes as text/html, application/octet-stream, or with no type.
    WrongContentType,
    /// robots.txt forbids everything; icons would be fine.
    RobotsDisallow,
    /// robots.txt answers 503; icons would be fine.
    RobotsUnavailable,
}

impl Behaviour {
    /// Whether the fault needs bytes that HTTP/2 has no way to send (lying lengths).
    pub(crate) fn needs_http1(self) -> bool {
        matches!(self, Self::StallsInBody | Self::LengthTooLong | Self::LengthTooShort)
    }
}
