//! Names that a crawl records for outcomes, certificate problems and truncation reasons.

/// Outcomes for captured URLs. If a response ends early, its URL is captured if part of the body
/// was received, and failed otherwise.
pub const CAPTURED_OUTCOMES: &[&str] = &[
    "body_reset",
    "body_truncated",
    "empty_body",
    "h1_parse",
    "not_modified",
    "ok",
    "redirected",
    "total_timeout",
];

/// Outcomes for failed URLs.
pub const FAILED_OUTCOMES: &[&str] = &[
    "body_reset",
    "body_too_large",
    "body_truncated",
    "connect_refused",
    "connect_reset",
    "connect_timeout",
    "connect_unreachable",
    "content_decode",
    "crashed",
    "dns_no_address",
    "dns_nxdomain",
    "dns_servfail",
    "dns_timeout",
    "first_byte_timeout",
    "h1_parse",
    "h2_protocol",
    "header_too_large",
    "http_401_403",
    "http_404_410",
    "http_429",
    "http_4xx",
    "http_5xx",
    "http_challenge",
    "no_record",
    "redirect_bad_scheme",
    "redirect_blocked",
    "redirect_limit",
    "redirect_loop",
    "tls_handshake",
    "tls_timeout",
    "tls_unsupported",
    "total_timeout",
];

/// Outcomes for refused URLs.
pub const REFUSED_OUTCOMES: &[&str] = &[
    "duplicate",
    "filtered_classifier",
    "filtered_country",
    "filtered_language",
    "filtered_list",
    "filtered_rule",
    "filtered_type",
    "filtered_words",
    "ip_blocked",
    "noarchive",
    "opted_out",
    "robots_disallowed",
    "type_refused",
    "url_credentials",
    "url_port",
    "url_scheme",
    "url_too_long",
    "url_unparsable",
];

/// Outcomes for URLs in the state `left`, except the reasons why a crawl ended.
pub const LEFT_OUTCOMES: &[&str] = &[
    "crawl_delay_too_long",
    "excluded",
    "host_dead",
    "not_included",
    "origin_dead",
    "retry_after_too_long",
    "robots_unreachable",
    "trap_shape",
];

/// Problems with a server's certificate.
pub const CERTIFICATE_FAULTS: &[&str] =
    &["expired", "self_signed", "wrong_name", "unknown_issuer", "faulty"];

/// Reasons why a body is incomplete, which are the values of `WARC-Truncated`.
pub const TRUNCATIONS: &[&str] = &["length", "time", "disconnect"];

/// Returns every outcome once, in alphabetical order, except the reasons why a crawl ended.
#[must_use]
pub fn every_outcome() -> Vec<&'static str> {
    let lists = [CAPTURED_OUTCOMES, FAILED_OUTCOMES, REFUSED_OUTCOMES, LEFT_OUTCOMES];
    let mut outcomes = lists.concat();
    outcomes.sort_unstable();
    outcomes.dedup();
    outcomes
}
