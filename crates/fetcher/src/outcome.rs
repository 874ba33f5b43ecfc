//! How one icon ended: the closed list of outcomes, and our own trouble, which is never one.
//!
//! Invariants: an outcome's name is stable (stored in the database, printed in reports, pinned by
//! a test); every outcome has exactly one of the public page's seven counters; whatever is our own
//! fault is a [`Trouble`] and has no way to become an [`Outcome`].
//! Must not know: how a fetch is made.

use std::{fmt, io};

/// A counter of the published statistics; each outcome adds to exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SeedName {
    /// The name has no address, or asking for it failed.
    FailedDns,
    /// Connecting, the handshake, the first byte or the whole fetch took too long.
    FailedTimeout,
    /// The server answered, and the answer was no.
    FailedHttpError,
    /// The server answered with something that is not a usable image.
    FailedInvalidImage,
    /// The body or the picture is over the limits.
    FailedTooLarge,
    /// Everything else: refused, broken protocol, forbidden.
    FailedOther,
    /// An icon.
    Completed,
}

impl SeedName {
    /// The name in `stats.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            SeedName::FailedDns => "failed_dns",
            SeedName::FailedTimeout => "failed_timeout",
            SeedName::FailedHttpError => "failed_http_error",
            SeedName::FailedInvalidImage => "failed_invalid_image",
            SeedName::FailedTooLarge => "failed_too_large",
            SeedName::FailedOther => "failed_other",
            SeedName::Completed => "completed",
        }
    }
}

/// Whether an outcome is worth one more try in the shard's later pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The answer was clear; asking again would only be impolite.
    Never,
    /// Once, in the later pass.
    LaterPass,
    /// Once, in the later pass and not before the server's `Retry-After`.
    AfterRetryAfter,
}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $seed:ident $retry:ident;)+) => {
        /// How one icon ended. The list is closed; the names are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Outcome { $($(#[$doc])* $variant,)+ }

        impl Outcome {
            /// Every outcome, in the order of their declaration.
            pub const ALL: &'static [Outcome] = &[$(Outcome::$variant,)+];

            /// The stable name, snake case.
            pub fn as_str(self) -> &'static str {
                match self { $(Outcome::$variant => $name,)+ }
            }

            /// The outcome of this name, if there is one.
            pub fn parse(name: &str) -> Option<Outcome> {
                match name { $($name => Some(Outcome::$variant),)+ _ => None }
            }

            /// The one counter of the published statistics that this outcome adds to.
            pub fn seed_name(self) -> SeedName {
                match self { $(Outcome::$variant => SeedName::$seed,)+ }
            }

            /// Whether the shard's later pass tries again.
            pub fn retry(self) -> Retry {
                match self { $(Outcome::$variant => Retry::$retry,)+ }
            }
        }
    };
}

outcomes! {
    /// The name does not exist, or cannot.
    DnsNxdomain "dns_nxdomain" FailedDns Never;
    /// The resolver answered with a failure.
    DnsServfail "dns_servfail" FailedDns LaterPass;
    /// The resolver is alive and gave no answer for this name in time.
    DnsTimeout "dns_timeout" FailedDns LaterPass;
    /// The name exists and has neither an IPv4 nor an IPv6 address.
    DnsNoAddress "dns_no_address" FailedDns Never;
    /// The URL, or one of its name's addresses, is not on the public internet.
    IpBlocked "ip_blocked" FailedOther Never;
    /// Known to be dead without a more exact class; kept for rows of other sources.
    EndpointDead "endpoint_dead" FailedOther Never;
    /// The address refuses connections on this port.
    ConnectRefused "connect_refused" FailedOther Never;
    /// A router says that the address cannot be reached.
    ConnectUnreachable "connect_unreachable" FailedOther LaterPass;
    /// No TCP connection in time.
    ConnectTimeout "connect_timeout" FailedTimeout LaterPass;
    /// The peer closed the connection before the first byte of an answer.
    ConnectReset "connect_reset" FailedOther LaterPass;
    /// No TLS handshake; a faulty certificate alone is not that.
    TlsHandshake "tls_handshake" FailedOther Never;
    /// The peer speaks only versions or ciphers that are no longer spoken.
    TlsUnsupported "tls_unsupported" FailedOther Never;
    /// No TLS handshake in time.
    TlsTimeout "tls_timeout" FailedTimeout LaterPass;
    /// The answer is not HTTP/1.1.
    H1Parse "h1_parse" FailedOther Never;
    /// The answer breaks HTTP/2.
    H2Protocol "h2_protocol" FailedOther Never;
    /// More than 256 header fields or 64 KiB of them, or endless 1xx answers.
    HeaderTooLarge "header_too_large" FailedOther Never;
    /// No head of an answer in time.
    FirstByteTimeout "first_byte_timeout" FailedTimeout LaterPass;
    /// The whole fetch, redirects and body included, took too long.
    TotalTimeout "total_timeout" FailedTimeout LaterPass;
    /// The connection broke within the body.
    BodyReset "body_reset" FailedOther LaterPass;
    /// The body ended before its declared length.
    BodyTruncated "body_truncated" FailedOther Never;
    /// The body, decoded, is over the limit.
    BodyTooLarge "body_too_large" FailedTooLarge Never;
    /// The content coding is broken, doubled, or not one that was asked for.
    ContentDecode "content_decode" FailedOther Never;
    /// The redirects came back to where they had been.
    RedirectLoop "redirect_loop" FailedHttpError Never;
    /// More redirects than allowed.
    RedirectLimit "redirect_limit" FailedHttpError Never;
    /// A redirect to something that is not an http or https URL.
    RedirectBadScheme "redirect_bad_scheme" FailedHttpError Never;
    /// A redirect to something that is not on the public internet.
    RedirectBlocked "redirect_blocked" FailedOther Never;
    /// 401 or 403.
    Http401403 "http_401_403" FailedHttpError Never;
    /// A challenge meant for a person in front of a browser.
    HttpChallenge "http_challenge" FailedHttpError Never;
    /// 404 or 410.
    Http404410 "http_404_410" FailedHttpError Never;
    /// 429.
    Http429 "http_429" FailedHttpError AfterRetryAfter;
    /// Another status that is neither success, nor a redirect with a target, nor a server error.
    Http4xx "http_4xx" FailedHttpError Never;
    /// Any 5xx; only 503 is tried again.
    Http5xx "http_5xx" FailedHttpError AfterRetryAfter;
    /// Success without a byte of content.
    EmptyBody "empty_body" FailedInvalidImage Never;
    /// An HTML page where an icon should be.
    NotImageHtml "not_image_html" FailedInvalidImage Never;
    /// Neither an image nor HTML.
    NotImageOther "not_image_other" FailedInvalidImage Never;
    /// It begins as an image and then is not one.
    ImageCorrupt "image_corrupt" FailedInvalidImage Never;
    /// More pixels than any icon needs.
    ImageTooBig "image_too_big" FailedTooLarge Never;
    /// An SVG that breaks the rules for strangers' SVGs.
    SvgRejected "svg_rejected" FailedInvalidImage Never;
    /// robots.txt forbids it, or could not be read for a reason that forbids it.
    RobotsDisallowed "robots_disallowed" FailedOther Never;
    /// The owner asked to be left out.
    OptedOut "opted_out" FailedOther Never;
    /// Twice in hand when a worker died.
    Crashed "crashed" FailedOther Never;
    /// An image.
    Ok "ok" Completed Never;
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Outcome {
    /// Whether it says that the name or the address itself is dead, so that another URL of the
    /// same origin need not be tried.
    pub fn kills_origin(self) -> bool {
        use Outcome::*;
        matches!(
            self,
            DnsNxdomain
                | DnsServfail
                | DnsTimeout
                | DnsNoAddress
                | IpBlocked
                | ConnectRefused
                | ConnectUnreachable
                | ConnectTimeout
                | TlsHandshake
                | TlsUnsupported
                | TlsTimeout
                | FirstByteTimeout
                | TotalTimeout
        )
    }

    /// Whether it is what a broken resolver or uplink of ours would look like; many of these in a
    /// row are our own trouble.
    pub fn resembles_our_trouble(self) -> bool {
        use Outcome::*;
        matches!(self, DnsServfail | DnsTimeout | ConnectUnreachable | ConnectTimeout)
    }

    /// Whether it is how a dead link of ours shows: nothing came back from anywhere.
    pub fn is_silence(self) -> bool {
        use Outcome::*;
        matches!(self, DnsServfail | DnsTimeout | ConnectUnreachable | ConnectTimeout)
            || matches!(self, TlsTimeout | FirstByteTimeout | TotalTimeout)
    }

    /// Whether time ran out; after a stall of our own it says nothing about the peer.
    pub fn is_a_matter_of_time(self) -> bool {
        use Outcome::*;
        matches!(self, DnsTimeout | ConnectTimeout | TlsTimeout | FirstByteTimeout | TotalTimeout)
            || matches!(self, ConnectReset | BodyReset | BodyTruncated | TlsHandshake | H2Protocol)
    }
}

/// Our own trouble. It voids the fetch it touched, which runs again; it is never an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Trouble {
    /// EMFILE, ENFILE.
    #[error("no file descriptor left (raise the open-file limit, or lower the fetches in flight)")]
    FileDescriptors,
    /// ENOBUFS, ENOMEM.
    #[error("the kernel has no memory left for sockets")]
    Memory,
    /// ENETUNREACH, ENETDOWN.
    #[error("this machine has no route to the network")]
    NetworkUnreachable,
    /// EADDRNOTAVAIL: no local port or address to dial from.
    #[error("no local port left to dial from")]
    LocalPorts,
    /// The resolver answers nobody.
    #[error("the resolver does not answer")]
    ResolverUnreachable,
    /// The process was frozen or asleep while a fetch was under way.
    #[error("this process was stalled while fetching")]
    Stalled,
    /// Most of the last origins failed in ways that look like our own network.
    #[error("most of the last origins failed to resolve or to connect")]
    MostOriginsFail,
    /// The folder for temporary files gave an error, or the spool reached its bound.
    #[error("the spool of icon bodies is full or cannot be written")]
    Spool,
}

impl Trouble {
    /// Every trouble.
    pub const ALL: [Trouble; 8] = [
        Trouble::FileDescriptors,
        Trouble::Memory,
        Trouble::NetworkUnreachable,
        Trouble::LocalPorts,
        Trouble::ResolverUnreachable,
        Trouble::Stalled,
        Trouble::MostOriginsFail,
        Trouble::Spool,
    ];

    /// The stable name, snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Trouble::FileDescriptors => "file_descriptors",
            Trouble::Memory => "memory",
            Trouble::NetworkUnreachable => "network_unreachable",
            Trouble::LocalPorts => "local_ports",
            Trouble::ResolverUnreachable => "resolver_unreachable",
            Trouble::Stalled => "stalled",
            Trouble::MostOriginsFail => "most_origins_fail",
            Trouble::Spool => "spool",
        }
    }

    /// The trouble that an operating-system error stands for, if it is ours and not the peer's.
    pub fn of_io(error: &io::Error) -> Option<Trouble> {
        match error.raw_os_error()? {
            libc::EMFILE | libc::ENFILE => Some(Trouble::FileDescriptors),
            libc::ENOBUFS | libc::ENOMEM => Some(Trouble::Memory),
            libc::ENETUNREACH | libc::ENETDOWN => Some(Trouble::NetworkUnreachable),
            libc::EADDRNOTAVAIL => Some(Trouble::LocalPorts),
            _ => None,
        }
    }
}

/// Why a step of a fetch did not go on: the web's answer, or our own trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The fetch has its outcome.
    Outcome(Outcome),
    /// The fetch is void.
    Trouble(Trouble),
}

impl From<Outcome> for Stop {
    fn from(outcome: Outcome) -> Stop {
        Stop::Outcome(outcome)
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Stop {
        Stop::Trouble(trouble)
    }
}

#[cfg(test)]
mod tests;
