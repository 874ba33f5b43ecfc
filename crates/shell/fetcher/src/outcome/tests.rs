//! Pins the list of outcomes, because names, counters and retries are a contract.

use std::collections::HashSet;

use super::*;

/// The columns are name, counter, retry in the later pass, effect as robots.txt, dead scope, local
/// fault, effect of a stall, and rate-limit signal.
const PINNED: &str = "\
dns_nxdomain failed_dns never NoResponse Origin No Counts No
dns_servfail failed_dns later NoResponse Origin Network Counts No
dns_timeout failed_dns later NoResponse Origin Network Void No
dns_no_address failed_dns never NoResponse Origin No Counts No
ip_blocked failed_other never NoResponse Origin No Counts No
endpoint_dead failed_other never NoResponse Nothing No Counts No
connect_refused failed_other never NoResponse Endpoint No Counts No
connect_unreachable failed_other later NoResponse Origin Network Counts No
connect_timeout failed_timeout later NoResponse Endpoint Network Void No
connect_reset failed_other later NoResponse Nothing No Void Yes
tls_handshake failed_other never NoResponse Origin No Void No
tls_unsupported failed_other never NoResponse Origin No Counts No
tls_timeout failed_timeout later NoResponse Origin Silence Void No
h1_parse failed_other never NoResponse Nothing No Counts No
h2_protocol failed_other never NoResponse Nothing No Void No
header_too_large failed_other never NoResponse Nothing No Counts No
first_byte_timeout failed_timeout later NoResponse Origin Silence Void No
total_timeout failed_timeout later NoResponse Origin Silence Void No
body_reset failed_other later Forbidden Nothing No Void Yes
body_truncated failed_other never Forbidden Nothing No Void No
body_too_large failed_too_large never NoResponse Nothing No Counts No
content_decode failed_other never Forbidden Nothing No Counts No
redirect_loop failed_http_error never Allowed Nothing No Counts No
redirect_limit failed_http_error never Allowed Nothing No Counts No
redirect_bad_scheme failed_http_error never Allowed Nothing No Counts No
redirect_blocked failed_other never Allowed Nothing No Counts No
http_401_403 failed_http_error never NoRules Nothing No Counts No
http_challenge failed_http_error never Allowed Nothing No Counts No
http_404_410 failed_http_error never NoRules Nothing No Counts No
http_429 failed_http_error after Forbidden Nothing No Counts Yes
http_4xx failed_http_error never Allowed Nothing No Counts No
http_5xx failed_http_error after Forbidden Nothing No Counts If503
empty_body failed_invalid_image never NoRules Nothing No Counts No
not_image_html failed_invalid_image never NoResponse Nothing No Counts No
not_image_other failed_invalid_image never NoResponse Nothing No Counts No
image_corrupt failed_invalid_image never NoResponse Nothing No Counts No
image_too_big failed_too_large never NoResponse Nothing No Counts No
svg_rejected failed_invalid_image never NoResponse Nothing No Counts No
type_refused failed_other never NoResponse Nothing No Counts No
redirected failed_http_error never Allowed Nothing No Counts No
not_modified failed_http_error never Allowed Nothing No Counts No
url_unparsable failed_other never NoResponse Nothing No Counts No
url_too_long failed_other never NoResponse Nothing No Counts No
url_scheme failed_other never NoResponse Nothing No Counts No
url_port failed_other never NoResponse Nothing No Counts No
url_credentials failed_other never NoResponse Nothing No Counts No
robots_disallowed failed_other never NoResponse Nothing No Counts No
opted_out failed_other never NoResponse Nothing No Counts No
crashed failed_other never NoResponse Nothing No Counts No
ok completed never Rules Nothing No Counts No
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
        list += &format!(
            "{outcome} {} {retry} {:?} {:?} {:?} {:?} {:?}\n",
            outcome.stats_counter().as_str(),
            outcome.robots_effect(),
            outcome.dead(),
            outcome.local_fault(),
            outcome.after_stall(),
            outcome.rate_limit_signal(),
        );
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
    let counters: HashSet<StatsCounter> = Outcome::ALL.iter().map(|o| o.stats_counter()).collect();
    assert_eq!(counters.len(), 7);
}

#[test]
fn outcomes_known_before_a_request_contact_no_host() {
    let spared =
        Outcome::ALL.iter().filter(|outcome| outcome.host_contact() == HostContact::Spared);
    let names: Vec<&str> = spared.map(|outcome| outcome.as_str()).collect();
    assert_eq!(
        names,
        [
            "ip_blocked",
            "endpoint_dead",
            "url_unparsable",
            "url_too_long",
            "url_scheme",
            "url_port",
            "url_credentials",
            "robots_disallowed",
            "opted_out",
            "crashed",
        ]
    );
}
