//! The list of outcomes is a contract: names, counters and retries are pinned.

use std::{collections::HashSet, io};

use super::*;

/// Name, counter, and whether the later pass tries again.
const PINNED: &str = "\
dns_nxdomain failed_dns never
dns_servfail failed_dns later
dns_timeout failed_dns later
dns_no_address failed_dns never
ip_blocked failed_other never
endpoint_dead failed_other never
connect_refused failed_other never
connect_unreachable failed_other later
connect_timeout failed_timeout later
connect_reset failed_other later
tls_handshake failed_other never
tls_unsupported failed_other never
tls_timeout failed_timeout later
h1_parse failed_other never
h2_protocol failed_other never
header_too_large failed_other never
first_byte_timeout failed_timeout later
total_timeout failed_timeout later
body_reset failed_other later
body_truncated failed_other never
body_too_large failed_too_large never
content_decode failed_other never
redirect_loop failed_http_error never
redirect_limit failed_http_error never
redirect_bad_scheme failed_http_error never
redirect_blocked failed_other never
http_401_403 failed_http_error never
http_challenge failed_http_error never
http_404_410 failed_http_error never
http_429 failed_http_error after
http_4xx failed_http_error never
http_5xx failed_http_error after
empty_body failed_invalid_image never
not_image_html failed_invalid_image never
not_image_other failed_invalid_image never
image_corrupt failed_invalid_image never
image_too_big failed_too_large never
svg_rejected failed_invalid_image never
robots_disallowed failed_other never
opted_out failed_other never
crashed failed_other never
ok completed never
";

#[test]
fn the_list_is_pinned() {
    let mut list = String::new();
    for outcome in Outcome::ALL {
        let retry = match outcome.retry() {
            Retry::Never => "never",
            Retry::LaterPass => "later",
            Retry::AfterRetryAfter => "after",
        };
        list += &format!("{outcome} {} {retry}\n", outcome.seed_name().as_str());
    }
    assert_eq!(list, PINNED);
}

#[test]
fn names_are_distinct_and_read_back() {
    let names: HashSet<&str> = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
    assert_eq!(names.len(), Outcome::ALL.len());
    for outcome in Outcome::ALL {
        assert_eq!(Outcome::parse(outcome.as_str()), Some(*outcome));
    }
    assert_eq!(Outcome::parse("OK"), None);
}

#[test]
fn every_counter_has_outcomes() {
    let counters: HashSet<SeedName> = Outcome::ALL.iter().map(|o| o.seed_name()).collect();
    assert_eq!(counters.len(), 7);
}

#[test]
fn our_own_errors_are_trouble_and_the_peers_are_not() {
    let of = |errno| Trouble::of_io(&io::Error::from_raw_os_error(errno));
    assert_eq!(of(libc::EMFILE), Some(Trouble::FileDescriptors));
    assert_eq!(of(libc::ENFILE), Some(Trouble::FileDescriptors));
    assert_eq!(of(libc::ENOBUFS), Some(Trouble::Memory));
    assert_eq!(of(libc::ENETUNREACH), Some(Trouble::NetworkUnreachable));
    assert_eq!(of(libc::EADDRNOTAVAIL), Some(Trouble::LocalPorts));
    for errno in [libc::ECONNREFUSED, libc::ECONNRESET, libc::ETIMEDOUT, libc::EHOSTUNREACH] {
        assert_eq!(of(errno), None);
    }
    assert_eq!(Trouble::of_io(&io::ErrorKind::UnexpectedEof.into()), None);
}
