//! The closed list of ways in which fetching one URL ends, and all that the fetcher makes of each.
//!
//! Invariants: an outcome's name is stable (Postgres stores it, reports print it, a test pins it);
//! every outcome adds to exactly one counter of the published statistics. Each rule that depends on
//! the outcome is a column of the one table below, so a new row does not compile before every
//! column has a value.
//! Must not know: how a fetch is made.

use std::fmt;

/// A counter of the published statistics; each outcome adds to exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatsCounter {
    /// The name has no address, or the resolver gave no answer.
    FailedDns,
    /// Connecting, the handshake, the first byte or the whole fetch took too long.
    FailedTimeout,
    /// The server answered with a refusal.
    FailedHttpError,
    /// The server answered with something that is not a usable image.
    FailedInvalidImage,
    /// The body or the image is over the limits.
    FailedTooLarge,
    /// Everything else: a refused connection, a broken protocol, a forbidden URL.
    FailedOther,
    /// The fetch gave an icon.
    Completed,
}

impl StatsCounter {
    /// The name in `stats.json`.
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

/// Whether the later pass of a shard fetches the URL once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The answer was clear; asking again would only be impolite.
    Never,
    /// Once, in the later pass.
    LaterPass,
    /// Once, in the later pass and not before the server's `Retry-After`.
    AfterRetryAfter,
}

/// Whether a live crawl fetches a page again that ended so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// The outcome is final.
    No,
    /// The failure may pass. It may be about the URL, or about its origin.
    Url,
    /// The failure may pass. No connection could be made, so it is not about the URL.
    Origin,
    /// The failure may pass if its status is one that [`Outcome::passing`] lists.
    ByStatus,
}

/// What an outcome of fetching robots.txt means for the URLs of its origin (RFC 9309, 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsAnswer {
    /// The body holds the rules.
    Rules,
    /// The origin has no rules. After a redirect to the robots.txt of another origin, neither has
    /// that one.
    NoRules,
    /// Everything is allowed, but nothing is learnt about another origin.
    Allowed,
    /// Everything is forbidden: there may be rules, and they cannot be read.
    Forbidden,
    /// No answer came. If it is this origin that did not answer, its URLs get the same outcome
    /// without being asked for; otherwise everything is forbidden.
    NoAnswer,
}

/// What an outcome shows to be dead, so that it need not be tried again for other URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dead {
    /// Nothing: it is about one URL.
    Nothing,
    /// The origin: its name, its address or its server.
    Origin,
    /// The address and port, and with them the origin.
    Endpoint,
}

/// Whether an outcome may be the fault of this machine's own network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalFault {
    /// The peer, or a router, was heard.
    No,
    /// Nothing came back after connecting; a link that drops packets looks the same.
    Silence,
    /// Nothing came back before there was a connection. Many of these in a row are the fault of
    /// this machine's resolver or link.
    Network,
}

/// Whether an outcome still counts after this process was stalled during the fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterStall {
    /// It does: it does not depend on time.
    Counts,
    /// It does not: a deadline passed, or a peer gave up, while this process stood still.
    Void,
}

/// Whether an outcome is what an address gives that gets too many requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Complaint {
    /// It is not.
    No,
    /// It is.
    Yes,
    /// It is if the status of the answer was 503.
    If503,
}

/// Whether the host of a URL was asked before its fetch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostWas {
    /// Its name was looked up, and unless that failed, a request was sent or tried.
    Asked,
    /// Nothing was sent to it: the outcome was known before.
    Spared,
}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $counter:ident $retry:ident $passing:ident
       [$($status:pat)?]
       $robots:ident $dead:ident $fault:ident $stall:ident $complaint:ident $host:ident;)+) => {
        /// How one fetch ended. The list is closed; the names are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Outcome { $($(#[$doc])* $variant,)+ }

        impl Outcome {
            /// Every outcome, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable name, in snake case.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The outcome of this name, if there is one.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }

            /// The one counter of the published statistics that this outcome adds to.
            pub fn stats_counter(self) -> StatsCounter {
                match self { $(Self::$variant => StatsCounter::$counter,)+ }
            }

            /// Whether the later pass of a shard fetches the URL once more.
            pub fn retry(self) -> Retry {
                match self { $(Self::$variant => Retry::$retry,)+ }
            }

            fn passing_column(self) -> Passing {
                match self { $(Self::$variant => Passing::$passing,)+ }
            }

            /// The outcome of an answer with this status, which is neither a success nor a redirect
            /// with a target. The rows are tried from the first to the last.
            pub(crate) fn of_refusal(status: u16) -> Self {
                match status { $($($status => Self::$variant,)?)+ }
            }

            /// What this outcome of fetching robots.txt means for the URLs of its origin.
            pub fn robots_answer(self) -> RobotsAnswer {
                match self { $(Self::$variant => RobotsAnswer::$robots,)+ }
            }

            /// What need not be tried again after this outcome.
            pub(crate) fn dead(self) -> Dead {
                match self { $(Self::$variant => Dead::$dead,)+ }
            }

            /// Whether this outcome may be the fault of this machine's own network.
            pub(crate) fn local_fault(self) -> LocalFault {
                match self { $(Self::$variant => LocalFault::$fault,)+ }
            }

            /// Whether this outcome still counts after a stall of this process.
            pub(crate) fn after_stall(self) -> AfterStall {
                match self { $(Self::$variant => AfterStall::$stall,)+ }
            }

            /// Whether an address that gets too many requests gives this outcome.
            pub(crate) fn complaint(self) -> Complaint {
                match self { $(Self::$variant => Complaint::$complaint,)+ }
            }

            /// Whether the host was asked for something.
            pub(crate) fn host_was_asked(self) -> HostWas {
                match self { $(Self::$variant => HostWas::$host,)+ }
            }
        }
    };
}

// The columns: name, counter of the statistics, later pass of an icon, whether a failure of a page
// may pass, HTTP statuses (none for most), and on
// the second line what it means as the outcome of robots.txt, what is dead, whether this machine
// may be at fault, whether it counts after a stall, whether the address complains, whether the host
// was asked.
outcomes! {
    /// The name does not exist, or cannot exist.
    DnsNxdomain "dns_nxdomain" FailedDns Never No []
        NoAnswer Origin No Counts No Asked;
    /// The resolver answered with a failure.
    DnsServfail "dns_servfail" FailedDns LaterPass Origin []
        NoAnswer Origin Network Counts No Asked;
    /// The resolver is alive and gave no answer for this name in time.
    DnsTimeout "dns_timeout" FailedDns LaterPass Origin []
        NoAnswer Origin Network Void No Asked;
    /// The name exists and has neither an IPv4 nor an IPv6 address.
    DnsNoAddress "dns_no_address" FailedDns Never No []
        NoAnswer Origin No Counts No Asked;
    /// The URL, or one of its name's addresses, is not on the public internet.
    IpBlocked "ip_blocked" FailedOther Never No []
        NoAnswer Origin No Counts No Spared;
    /// The endpoint is known to be dead without a more exact class; kept for rows of other sources.
    EndpointDead "endpoint_dead" FailedOther Never No []
        NoAnswer Nothing No Counts No Spared;
    /// The address refuses connections on this port.
    ConnectRefused "connect_refused" FailedOther Never Origin []
        NoAnswer Endpoint No Counts No Asked;
    /// A router reports that the address cannot be reached.
    ConnectUnreachable "connect_unreachable" FailedOther LaterPass Origin []
        NoAnswer Origin Network Counts No Asked;
    /// There was no TCP connection in time.
    ConnectTimeout "connect_timeout" FailedTimeout LaterPass Origin []
        NoAnswer Endpoint Network Void No Asked;
    /// The peer closed the connection before the first byte of an answer.
    ConnectReset "connect_reset" FailedOther LaterPass Url []
        NoAnswer Nothing No Void Yes Asked;
    /// The TLS handshake failed; a faulty certificate alone does not make it fail.
    TlsHandshake "tls_handshake" FailedOther Never No []
        NoAnswer Origin No Void No Asked;
    /// The peer speaks only versions or ciphers of TLS that are no longer in use.
    TlsUnsupported "tls_unsupported" FailedOther Never No []
        NoAnswer Origin No Counts No Asked;
    /// The TLS handshake did not end in time.
    TlsTimeout "tls_timeout" FailedTimeout LaterPass Origin []
        NoAnswer Origin Silence Void No Asked;
    /// The answer is not HTTP/1.1.
    H1Parse "h1_parse" FailedOther Never No []
        NoAnswer Nothing No Counts No Asked;
    /// The answer violates HTTP/2.
    H2Protocol "h2_protocol" FailedOther Never No []
        NoAnswer Nothing No Void No Asked;
    /// The head has more than 256 fields or 64 KiB, or the interim answers (1xx) do not end.
    HeaderTooLarge "header_too_large" FailedOther Never No []
        NoAnswer Nothing No Counts No Asked;
    /// The head of an answer did not come in time.
    FirstByteTimeout "first_byte_timeout" FailedTimeout LaterPass Url []
        NoAnswer Origin Silence Void No Asked;
    /// The whole fetch, redirects and body included, took too long.
    TotalTimeout "total_timeout" FailedTimeout LaterPass Url []
        NoAnswer Origin Silence Void No Asked;
    /// The connection broke within the body.
    BodyReset "body_reset" FailedOther LaterPass Url []
        Forbidden Nothing No Void Yes Asked;
    /// The body ended before its declared length.
    BodyTruncated "body_truncated" FailedOther Never Url []
        Forbidden Nothing No Void No Asked;
    /// The decoded body is over the limit.
    BodyTooLarge "body_too_large" FailedTooLarge Never No []
        NoAnswer Nothing No Counts No Asked;
    /// The content codings cannot be undone.
    ContentDecode "content_decode" FailedOther Never No []
        Forbidden Nothing No Counts No Asked;
    /// The redirects came back to a URL that was asked for before.
    RedirectLoop "redirect_loop" FailedHttpError Never No []
        Allowed Nothing No Counts No Asked;
    /// There were more redirects than allowed.
    RedirectLimit "redirect_limit" FailedHttpError Never No []
        Allowed Nothing No Counts No Asked;
    /// A redirect led to something that is not an http or https URL.
    RedirectBadScheme "redirect_bad_scheme" FailedHttpError Never No []
        Allowed Nothing No Counts No Asked;
    /// A redirect led to something that is not on the public internet.
    RedirectBlocked "redirect_blocked" FailedOther Never No []
        Allowed Nothing No Counts No Asked;
    /// The status was 401 or 403.
    Http401403 "http_401_403" FailedHttpError Never No [401 | 403]
        NoRules Nothing No Counts No Asked;
    /// The answer is a challenge meant for a person in front of a browser.
    HttpChallenge "http_challenge" FailedHttpError Never No []
        Allowed Nothing No Counts No Asked;
    /// The status was 404 or 410.
    Http404410 "http_404_410" FailedHttpError Never No [404 | 410]
        NoRules Nothing No Counts No Asked;
    /// The status was 429.
    Http429 "http_429" FailedHttpError AfterRetryAfter Url [429]
        Forbidden Nothing No Counts Yes Asked;
    /// Any other status that is no success, no redirect with a target and no server error.
    Http4xx "http_4xx" FailedHttpError Never ByStatus [0..=499]
        Allowed Nothing No Counts No Asked;
    /// The status was 500 or higher; only 503 is tried again.
    Http5xx "http_5xx" FailedHttpError AfterRetryAfter ByStatus [500..]
        Forbidden Nothing No Counts If503 Asked;
    /// The server answered with success and without a byte of content.
    EmptyBody "empty_body" FailedInvalidImage Never No []
        NoRules Nothing No Counts No Asked;
    /// The body is an HTML page where an icon should be.
    NotImageHtml "not_image_html" FailedInvalidImage Never No []
        NoAnswer Nothing No Counts No Asked;
    /// The body is neither an image nor HTML.
    NotImageOther "not_image_other" FailedInvalidImage Never No []
        NoAnswer Nothing No Counts No Asked;
    /// The body begins as an image and then is not one.
    ImageCorrupt "image_corrupt" FailedInvalidImage Never No []
        NoAnswer Nothing No Counts No Asked;
    /// The image has more pixels than any icon needs.
    ImageTooBig "image_too_big" FailedTooLarge Never No []
        NoAnswer Nothing No Counts No Asked;
    /// The SVG breaks the rules for SVGs of unknown origin.
    SvgRejected "svg_rejected" FailedInvalidImage Never No []
        NoAnswer Nothing No Counts No Asked;
    /// The content type is not one that the request accepts; the body was not read.
    TypeRefused "type_refused" FailedOther Never No []
        NoAnswer Nothing No Counts No Asked;
    /// The answer is a redirect, which is reported and not followed.
    Redirected "redirected" FailedHttpError Never No []
        Allowed Nothing No Counts No Asked;
    /// The answer is that the earlier copy is still good (304).
    NotModified "not_modified" FailedHttpError Never No []
        Allowed Nothing No Counts No Asked;
    /// The text is no absolute URL.
    UrlUnparsable "url_unparsable" FailedOther Never No []
        NoAnswer Nothing No Counts No Spared;
    /// The URL is longer than any that is asked for.
    UrlTooLong "url_too_long" FailedOther Never No []
        NoAnswer Nothing No Counts No Spared;
    /// The scheme is neither http nor https.
    UrlScheme "url_scheme" FailedOther Never No []
        NoAnswer Nothing No Counts No Spared;
    /// The port is not one that web servers use.
    UrlPort "url_port" FailedOther Never No []
        NoAnswer Nothing No Counts No Spared;
    /// The URL has a user name or a password.
    UrlCredentials "url_credentials" FailedOther Never No []
        NoAnswer Nothing No Counts No Spared;
    /// robots.txt forbids it, or could not be read for a reason that forbids it.
    RobotsDisallowed "robots_disallowed" FailedOther Never No []
        NoAnswer Nothing No Counts No Spared;
    /// The owner asked to be left out.
    OptedOut "opted_out" FailedOther Never No []
        NoAnswer Nothing No Counts No Spared;
    /// It was the current item when a process ended, twice.
    Crashed "crashed" FailedOther Never No []
        NoAnswer Nothing No Counts No Spared;
    /// The body is an image.
    Ok "ok" Completed Never No []
        Rules Nothing No Counts No Asked;
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Outcome {
    /// Whether a page that ended so, with this status if a response came, may be had later. Of
    /// statuses those of passing trouble: of the server, or of a proxy before it (520 to 527).
    pub fn passing(self, status: Option<u16>) -> Passing {
        match (self.passing_column(), status) {
            (Passing::ByStatus, Some(408 | 500 | 502 | 503 | 504 | 520..=527)) => Passing::Url,
            (Passing::ByStatus, _) => Passing::No,
            (passing, _) => passing,
        }
    }

    /// Whether the name, the address or the server is dead, so that another URL of the same origin
    /// need not be tried.
    pub(crate) fn kills_origin(self) -> bool {
        self.dead() != Dead::Nothing
    }

    /// Whether nothing came back from the peer, which a dead link of this machine would explain.
    pub(crate) fn is_silence(self) -> bool {
        self.local_fault() != LocalFault::No
    }
}

#[cfg(test)]
mod tests;
