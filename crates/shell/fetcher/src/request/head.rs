//! Decides by the head of a response alone whether to read the body, follow a redirect, or stop.

use std::{error::Error, io, time::Duration};

use chrono::Utc;
use http::{
    StatusCode,
    header::{HeaderMap, LOCATION, RETRY_AFTER},
};

use crate::{
    caching,
    local_failure::{LocalFailure, Stop},
    outcome::Outcome,
    request::message,
};

pub(crate) enum NextStep {
    Body,
    Redirect(String),
}

/// Returns the outcome if the response is neither a success nor a redirect with a target.
pub(crate) fn judge_head(status: StatusCode, headers: &HeaderMap) -> Result<NextStep, Outcome> {
    let mitigated = headers.get("cf-mitigated").and_then(|value| value.to_str().ok());
    if mitigated.is_some_and(|what| what.trim().eq_ignore_ascii_case("challenge")) {
        return Err(Outcome::HttpChallenge);
    }
    let location = headers.get(LOCATION).map(message::location);
    match (status.as_u16(), location) {
        (200..=299, _) => Ok(NextStep::Body),
        (301 | 302 | 303 | 307 | 308, Some(location)) => Ok(NextStep::Redirect(location)),
        (refusal, _) => Err(Outcome::of_refusal(refusal)),
    }
}

/// A date in `Retry-After` is compared with the response's own date, so that the local clock does
/// not matter.
pub(crate) fn retry_after(headers: &HeaderMap, date: Option<&str>) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = caching::date(value)?;
    let now = date.and_then(caching::date).unwrap_or_else(Utc::now);
    Some((until - now).to_std().unwrap_or_default())
}

pub(crate) fn of_head_error(error: &hyper::Error, speaks_http2: bool) -> Stop {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if let Some(failure) = cause.downcast_ref::<io::Error>().and_then(LocalFailure::of_io) {
            return failure.into();
        }
        source = cause.source();
    }
    if error.is_parse_too_large() {
        Outcome::HeaderTooLarge.into()
    } else if speaks_http2 {
        Outcome::H2Protocol.into()
    } else if error.is_parse() {
        Outcome::H1Parse.into()
    } else {
        Outcome::ConnectReset.into()
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let value = |value: &'static str| HeaderValue::from_static(value);
        pairs.iter().map(|(name, text)| (name.parse().expect("a name"), value(text))).collect()
    }

    #[test]
    fn every_status_has_a_meaning() {
        let of = |status: u16, pairs: &[(&'static str, &'static str)]| {
            let status = StatusCode::from_u16(status).expect("a status");
            judge_head(status, &headers(pairs)).err()
        };
        let table = [
            (200, None),
            (206, None),
            (300, Some(Outcome::Http4xx)),
            (302, Some(Outcome::Http4xx)),
            (304, Some(Outcome::Http4xx)),
            (400, Some(Outcome::Http4xx)),
            (401, Some(Outcome::Http401403)),
            (403, Some(Outcome::Http401403)),
            (404, Some(Outcome::Http404410)),
            (410, Some(Outcome::Http404410)),
            (418, Some(Outcome::Http4xx)),
            (429, Some(Outcome::Http429)),
            (499, Some(Outcome::Http4xx)),
            (500, Some(Outcome::Http5xx)),
            (503, Some(Outcome::Http5xx)),
            (999, Some(Outcome::Http5xx)),
        ];
        for (status, outcome) in table {
            assert_eq!(of(status, &[]), outcome, "{status}");
        }
        for status in 400..=999 {
            let outcome = of(status, &[]);
            assert!(table.iter().any(|row| row.1 == outcome), "{outcome:?} is not in the table");
        }
        assert_eq!(of(302, &[("location", "/x")]), None);
        assert_eq!(of(403, &[("cf-mitigated", "challenge")]), Some(Outcome::HttpChallenge));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_relative_to_the_responses_date() {
        let date = Some("Wed, 21 Oct 2015 07:28:00 GMT");
        let of = |value: &'static str| retry_after(&headers(&[("retry-after", value)]), date);
        assert_eq!(of("30"), Some(Duration::from_secs(30)));
        assert_eq!(of("Wed, 21 Oct 2015 07:28:45 GMT"), Some(Duration::from_secs(45)));
        assert_eq!(of("Wednesday, 21-Oct-15 07:28:45 GMT"), Some(Duration::from_secs(45)));
        assert_eq!(of("Wed Oct 21 07:28:45 2015"), Some(Duration::from_secs(45)));
        assert_eq!(of("Wed, 21 Oct 2015 07:20:00 GMT"), Some(Duration::ZERO));
        assert_eq!(of("soon"), None);
        assert_eq!(retry_after(&headers(&[]), date), None);
    }

    fn of_values(value: &[u8], date: Option<&str>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_bytes(value).ok()?);
        retry_after(&headers, date)
    }

    fn http_date(seconds: i64) -> String {
        let date = DateTime::from_timestamp(seconds, 0).expect("a date");
        date.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    proptest! {
        #[test]
        fn any_retry_after_is_a_time_or_none(
            value: Vec<u8>, text in "[ -~]{0,40}", date in proptest::option::of("[ -~]{0,40}"),
        ) {
            let _ = of_values(&value, date.as_deref());
            let _ = of_values(text.as_bytes(), date.as_deref());
        }

        #[test]
        fn retry_after_in_seconds_is_that_long(seconds: u64, space in " {0,3}") {
            let value = format!("{space}{seconds}{space}");
            let waited = of_values(value.as_bytes(), None);
            prop_assert_eq!(waited, Some(Duration::from_secs(seconds)));
        }

        #[test]
        fn retry_after_as_a_date_is_relative_to_the_responses_date(
            now in 0_i64..4_000_000_000, wait in -2_000_000_000_i64..4_000_000_000,
        ) {
            let waited = of_values(http_date(now + wait).as_bytes(), Some(&http_date(now)));
            let expected = Duration::from_secs(u64::try_from(wait).unwrap_or(0));
            prop_assert_eq!(waited, Some(expected));
        }

        #[test]
        fn retry_after_is_relative_to_now_without_a_date(
            wait in 0_i64..4_000_000_000, date in proptest::option::of("[a-z]{0,9}"),
        ) {
            let before = Utc::now().timestamp();
            let waited = of_values(http_date(before + wait).as_bytes(), date.as_deref());
            let waited = waited.expect("a time").as_secs();
            let passed = Utc::now().timestamp() - before + 1;
            let expected = wait.saturating_sub(passed)..=wait;
            prop_assert!(expected.contains(&i64::try_from(waited).expect("a time")), "{waited}");
        }
    }
}
