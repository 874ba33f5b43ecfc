//! The closed list of outcomes for fetching one URL, and the rules that depend on each.
//!
//! An outcome's name is stable, because Postgres and published reports contain it.

use std::fmt;

/// A counter of the published statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatsCounter {
    /// The name has no address, or the resolver failed or did not respond.
    FailedDns,
    /// Connecting, the handshake, the first byte or the whole fetch took too long.
    FailedTimeout,
    /// The server rejected the request, or a redirect was not followed to its end.
    FailedHttpError,
    /// The response is not a usable image.
    FailedInvalidImage,
    /// The body or the image exceeds a limit.
    FailedTooLarge,
    /// Any other failure: a refused connection, a protocol error, a forbidden URL.
    FailedOther,
    /// The fetch returned an icon.
    Completed,
}

impl StatsCounter {
    /// Returns the name in `stats.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FailedDns => "failed_dns",
            Self::FailedTimeout => "failed_timeout",
            Self::FailedHttpError => "failed_http_error",
            Self::FailedInvalidImage => "failed_invalid_image",
            Self::FailedTooLarge => "failed_too_large",
            Self::FailedOther => "failed_other",
            Self::Completed => "completed",
        }
    }
}

/// Whether a shard's later pass retries the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Do not retry, because the response was definite.
    Never,
    /// Retry once, in the later pass.
    LaterPass,
    /// Retry once in the later pass, but not before the server's `Retry-After`. An icon is only
    /// retried if its status was 429 or 503.
    AfterRetryAfter,
}

/// Whether a live crawl retries a page with this outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// The outcome is final.
    No,
    /// The failure may be temporary. Its cause may be the URL or its origin.
    Url,
    /// The failure may be temporary. It happened before a request was sent, so its cause is not the
    /// URL.
    Origin,
    /// The failure may be temporary for some statuses, which are in [`Outcome::passing`].
    ByStatus,
}

/// The effect of a robots.txt outcome on its origin's URLs (RFC 9309, 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsEffect {
    /// The body contains the rules.
    Rules,
    /// The origin has no rules. After a redirect to the robots.txt of another origin, that origin
    /// has none either.
    NoRules,
    /// Everything is allowed. After a redirect, this says nothing about the other origin.
    Allowed,
    /// Everything is forbidden, because there may be rules that could not be read.
    Forbidden,
    /// There was no usable response. If this origin itself did not respond, its URLs get the same
    /// outcome without a request. If only the target of a redirect did not respond, everything is
    /// forbidden.
    NoResponse,
}

/// The scope that an outcome shows to be dead, so that it need not be tried for other URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dead {
    Nothing,
    Origin,
    Endpoint,
}

/// Whether an outcome may be caused by the local network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalFault {
    /// No: the peer or the resolver gave a definite result.
    No,
    /// Maybe: nothing was received after connecting. A link that drops packets has the same effect.
    Silence,
    /// Maybe: the name was not resolved, or no connection was made. If most of the recent origins
    /// fail like this, the cause is the local resolver or link.
    Network,
}

/// Whether an outcome is still valid if this process stalled during the fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterStall {
    Counts,
    /// A deadline may have passed, or a peer may have given up, because this process was stalled.
    Void,
}

/// Whether an outcome is a sign that an address gets too many requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateLimitSignal {
    No,
    Yes,
    If503,
}

/// Whether the host of a URL was contacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostContact {
    Contacted,
    /// Nothing was sent to the host, because the outcome was known before.
    Spared,
}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $counter:ident $retry:ident $passing:ident
       [$($status:pat)?]
       $robots:ident $dead:ident $fault:ident $stall:ident $signal:ident $host:ident;)+) => {
        /// The outcome of a fetch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Outcome { $($(#[$doc])* $variant,)+ }

        impl Outcome {
            /// All outcomes, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the stable name, in snake case.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the outcome with this name. `None` if no outcome has it.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }

            /// Returns the counter that this outcome adds to.
            pub fn stats_counter(self) -> StatsCounter {
                match self { $(Self::$variant => StatsCounter::$counter,)+ }
            }

            /// Returns whether a shard's later pass retries the URL.
            pub fn retry(self) -> Retry {
                match self { $(Self::$variant => Retry::$retry,)+ }
            }

            fn passing_column(self) -> Passing {
                match self { $(Self::$variant => Passing::$passing,)+ }
            }

            pub(crate) fn of_refusal(status: u16) -> Self {
                match status { $($($status => Self::$variant,)?)+ }
            }

            /// Returns this robots.txt outcome's effect on its origin's URLs.
            pub fn robots_effect(self) -> RobotsEffect {
                match self { $(Self::$variant => RobotsEffect::$robots,)+ }
            }

            pub(crate) fn dead(self) -> Dead {
                match self { $(Self::$variant => Dead::$dead,)+ }
            }

            pub(crate) fn local_fault(self) -> LocalFault {
                match self { $(Self::$variant => LocalFault::$fault,)+ }
            }

            pub(crate) fn after_stall(self) -> AfterStall {
                match self { $(Self::$variant => AfterStall::$stall,)+ }
            }

            pub(crate) fn rate_limit_signal(self) -> RateLimitSignal {
                match self { $(Self::$variant => RateLimitSignal::$signal,)+ }
            }

            pub(crate) fn host_contact(self) -> HostContact {
                match self { $(Self::$variant => HostContact::$host,)+ }
            }
        }
    };
}

// The columns in the first line are name, counter in the statistics, retry in an icon's later pass,
// retry of a crawl's page, and HTTP statuses (mostly empty). In the second line they are the effect
// as robots.txt outcome, dead scope, whether the cause may be local, whether the outcome is valid
// after a stall, whether it is a rate-limit signal, and whether the host was contacted.
outcomes! {
    /// The name does not exist, or cannot exist.
    DnsNxdomain "dns_nxdomain" FailedDns Never No []
        NoResponse Origin No Counts No Contacted;
    /// The resolver reported a failure.
    DnsServfail "dns_servfail" FailedDns LaterPass Origin []
        NoResponse Origin Network Counts No Contacted;
    /// The resolver works, but did not respond for this name in time.
    DnsTimeout "dns_timeout" FailedDns LaterPass Origin []
        NoResponse Origin Network Void No Contacted;
    /// The name exists, but has neither an IPv4 nor an IPv6 address.
    DnsNoAddress "dns_no_address" FailedDns Never No []
        NoResponse Origin No Counts No Contacted;
    /// The URL, or one of its name's addresses, is not on the public internet. Icons also get this
    /// outcome for an invalid URL.
    IpBlocked "ip_blocked" FailedOther Never No []
        NoResponse Origin No Counts No Spared;
    /// The endpoint is known to be dead, but not why. The fetcher itself never returns this
    /// outcome.
    EndpointDead "endpoint_dead" FailedOther Never No []
        NoResponse Nothing No Counts No Spared;
    /// The address refuses connections on this port.
    ConnectRefused "connect_refused" FailedOther Never Origin []
        NoResponse Endpoint No Counts No Contacted;
    /// A router or the kernel reports that the address is unreachable.
    ConnectUnreachable "connect_unreachable" FailedOther LaterPass Origin []
        NoResponse Origin Network Counts No Contacted;
    /// No TCP connection was made in time.
    ConnectTimeout "connect_timeout" FailedTimeout LaterPass Origin []
        NoResponse Endpoint Network Void No Contacted;
    /// The peer closed the connection during the TLS handshake, or before the first byte of a
    /// response.
    ConnectReset "connect_reset" FailedOther LaterPass Url []
        NoResponse Nothing No Void Yes Contacted;
    /// The TLS handshake failed. A faulty certificate alone does not cause this.
    TlsHandshake "tls_handshake" FailedOther Never No []
        NoResponse Origin No Void No Contacted;
    /// The peer only supports obsolete TLS versions or ciphers.
    TlsUnsupported "tls_unsupported" FailedOther Never No []
        NoResponse Origin No Counts No Contacted;
    /// The TLS handshake did not complete in time.
    TlsTimeout "tls_timeout" FailedTimeout LaterPass Origin []
        NoResponse Origin Silence Void No Contacted;
    /// The response is not valid HTTP/1.
    H1Parse "h1_parse" FailedOther Never No []
        NoResponse Nothing No Counts No Contacted;
    /// The response violates HTTP/2.
    H2Protocol "h2_protocol" FailedOther Never No []
        NoResponse Nothing No Void No Contacted;
    /// The head of an HTTP/1 response exceeds 64 KiB or 256 fields, or too many interim responses
    /// (1xx) precede it.
    HeaderTooLarge "header_too_large" FailedOther Never No []
        NoResponse Nothing No Counts No Contacted;
    /// The head of a response did not arrive in time.
    FirstByteTimeout "first_byte_timeout" FailedTimeout LaterPass Url []
        NoResponse Origin Silence Void No Contacted;
    /// The whole fetch, including redirects and body, took too long.
    TotalTimeout "total_timeout" FailedTimeout LaterPass Url []
        NoResponse Origin Silence Void No Contacted;
    /// The connection broke during the body.
    BodyReset "body_reset" FailedOther LaterPass Url []
        Forbidden Nothing No Void Yes Contacted;
    /// The body ended before its declared length.
    BodyTruncated "body_truncated" FailedOther Never Url []
        Forbidden Nothing No Void No Contacted;
    /// The body, decoded or as received, exceeds the limit.
    BodyTooLarge "body_too_large" FailedTooLarge Never No []
        NoResponse Nothing No Counts No Contacted;
    /// The content codings, or the base64 of a `data:` icon, cannot be decoded.
    ContentDecode "content_decode" FailedOther Never No []
        Forbidden Nothing No Counts No Contacted;
    /// A redirect led to a URL that the chain had already requested with the same cookies.
    RedirectLoop "redirect_loop" FailedHttpError Never No []
        Allowed Nothing No Counts No Contacted;
    /// There were more redirects than allowed.
    RedirectLimit "redirect_limit" FailedHttpError Never No []
        Allowed Nothing No Counts No Contacted;
    /// A redirect led to a URL that is invalid, or whose scheme is neither http nor https.
    RedirectBadScheme "redirect_bad_scheme" FailedHttpError Never No []
        Allowed Nothing No Counts No Contacted;
    /// A redirect led to an address that is not on the public internet, or to a port that is not
    /// allowed.
    RedirectBlocked "redirect_blocked" FailedOther Never No []
        Allowed Nothing No Counts No Contacted;
    /// The status was 401 or 403.
    Http401403 "http_401_403" FailedHttpError Never No [401 | 403]
        NoRules Nothing No Counts No Contacted;
    /// The response asks a person at a browser to prove that they are human.
    HttpChallenge "http_challenge" FailedHttpError Never No []
        Allowed Nothing No Counts No Contacted;
    /// The status was 404 or 410.
    Http404410 "http_404_410" FailedHttpError Never No [404 | 410]
        NoRules Nothing No Counts No Contacted;
    /// The status was 429.
    Http429 "http_429" FailedHttpError AfterRetryAfter Url [429]
        Forbidden Nothing No Counts Yes Contacted;
    /// Any other status that is not a success, a redirect with a target, or a server error.
    Http4xx "http_4xx" FailedHttpError Never ByStatus [0..=499]
        Allowed Nothing No Counts No Contacted;
    /// The status was 500 or higher. For icons only 503 is retried, for pages the statuses in
    /// [`Outcome::passing`].
    Http5xx "http_5xx" FailedHttpError AfterRetryAfter ByStatus [500..]
        Forbidden Nothing No Counts If503 Contacted;
    /// The response was a success without any content.
    EmptyBody "empty_body" FailedInvalidImage Never No []
        NoRules Nothing No Counts No Contacted;
    /// The body is an HTML page instead of an icon.
    NotImageHtml "not_image_html" FailedInvalidImage Never No []
        NoResponse Nothing No Counts No Contacted;
    /// The body is neither an image nor HTML.
    NotImageOther "not_image_other" FailedInvalidImage Never No []
        NoResponse Nothing No Counts No Contacted;
    /// The body starts like an image, but is corrupt.
    ImageCorrupt "image_corrupt" FailedInvalidImage Never No []
        NoResponse Nothing No Counts No Contacted;
    /// The image has more pixels than any icon needs.
    ImageTooBig "image_too_big" FailedTooLarge Never No []
        NoResponse Nothing No Counts No Contacted;
    /// The SVG violates the rules for untrusted SVGs.
    SvgRejected "svg_rejected" FailedInvalidImage Never No []
        NoResponse Nothing No Counts No Contacted;
    /// The content type is not accepted by the request, so the body was not read.
    TypeRefused "type_refused" FailedOther Never No []
        NoResponse Nothing No Counts No Contacted;
    /// The response is a redirect, which is reported instead of followed.
    Redirected "redirected" FailedHttpError Never No []
        Allowed Nothing No Counts No Contacted;
    /// The earlier copy is still valid (304).
    NotModified "not_modified" FailedHttpError Never No []
        Allowed Nothing No Counts No Contacted;
    /// The URL cannot be parsed, or is not absolute.
    UrlUnparsable "url_unparsable" FailedOther Never No []
        NoResponse Nothing No Counts No Spared;
    /// The URL is longer than the limit.
    UrlTooLong "url_too_long" FailedOther Never No []
        NoResponse Nothing No Counts No Spared;
    /// The scheme is neither http nor https.
    UrlScheme "url_scheme" FailedOther Never No []
        NoResponse Nothing No Counts No Spared;
    /// The port is not allowed.
    UrlPort "url_port" FailedOther Never No []
        NoResponse Nothing No Counts No Spared;
    /// The URL has a user name or a password.
    UrlCredentials "url_credentials" FailedOther Never No []
        NoResponse Nothing No Counts No Spared;
    /// robots.txt forbids the URL, or failed in a way that forbids everything.
    RobotsDisallowed "robots_disallowed" FailedOther Never No []
        NoResponse Nothing No Counts No Spared;
    /// The host is on the blocklist or was excluded, for example because its owner opted out.
    OptedOut "opted_out" FailedOther Never No []
        NoResponse Nothing No Counts No Spared;
    /// The URL was the current item at three process deaths, or its response made the fetcher
    /// panic.
    Crashed "crashed" FailedOther Never No []
        NoResponse Nothing No Counts No Spared;
    /// The fetch succeeded. If an icon was requested, the body is an image.
    Ok "ok" Completed Never No []
        Rules Nothing No Counts No Contacted;
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Outcome {
    /// Returns whether a crawl may retry a page with this outcome. The listed statuses are
    /// temporary failures of the server, or of a proxy in front of it (520 to 527).
    pub fn passing(self, status: Option<u16>) -> Passing {
        match (self.passing_column(), status) {
            (Passing::ByStatus, Some(408 | 500 | 502 | 503 | 504 | 520..=527)) => Passing::Url,
            (Passing::ByStatus, _) => Passing::No,
            (passing, _) => passing,
        }
    }

    pub(crate) fn kills_origin(self) -> bool {
        self.dead() != Dead::Nothing
    }

    pub(crate) fn is_silence(self) -> bool {
        self.local_fault() != LocalFault::No
    }
}

#[cfg(test)]
mod tests;
