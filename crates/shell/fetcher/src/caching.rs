//! Decides from a response's header fields whether a later request for the same URL could be
//! conditional, or could be avoided (RFC 9110 8.8, RFC 9111 4.2).
//!
//! These are the rules for a private cache without heuristic freshness.

use chrono::{DateTime, NaiveDateTime, Utc};
use http::{
    HeaderMap, HeaderName,
    header::{AGE, CACHE_CONTROL, DATE, ETAG, EXPIRES, LAST_MODIFIED, VARY},
};

/// Maximum number of seconds in a field (RFC 9111 1.2.2).
const MAX_SECONDS: i64 = 1 << 31;
const DAY: i64 = 86_400;
/// The obsolete date formats that receivers must accept (RFC 9110 5.6.7).
const OBSOLETE_DATES: [&str; 2] = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// The facts about a response that matter for the next request to its URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    /// Whether the next request can be conditional, because the response has an `ETag` or a
    /// `Last-Modified`.
    pub has_validator: bool,
    /// Seconds from receipt until the response becomes stale.
    fresh_seconds: i64,
}

impl Caching {
    pub(crate) fn of(headers: &HeaderMap, now: DateTime<Utc>) -> Self {
        let has = |name: HeaderName| headers.get(name).is_some_and(|value| !value.is_empty());
        let lifetime = lifetime(headers, now);
        let age = if lifetime > 0 { age(headers, now) } else { 0 };
        Self {
            has_validator: has(ETAG) || has(LAST_MODIFIED),
            fresh_seconds: lifetime.saturating_sub(age),
        }
    }

    /// Returns whether a cache may still use the response without a request, this many days after
    /// its receipt.
    pub fn is_fresh_after(self, days: u32) -> bool {
        self.fresh_seconds > i64::from(days) * DAY
    }
}

fn lifetime(headers: &HeaderMap, now: DateTime<Utc>) -> i64 {
    if values(headers, VARY).any(|field| field == "*") {
        return 0;
    }
    let directives: Vec<(String, &str)> = values(headers, CACHE_CONTROL).map(directive).collect();
    let find = |name: &str| directives.iter().find(|directive| directive.0 == name);
    // If no-cache has a value, it only restricts the fields that the value names.
    let is_forbidden = |(name, value): &(String, &str)| {
        name == "no-store" || name == "no-cache" && value.is_empty()
    };
    if directives.iter().any(is_forbidden) {
        return 0;
    }
    if let Some((_, age)) = find("max-age") {
        return seconds(age).unwrap_or(0);
    }
    let Some(expires) = headers.get(EXPIRES) else { return 0 };
    // A malformed date counts as a date in the past.
    let Some(expires) = expires.to_str().ok().and_then(date) else { return 0 };
    let lifetime = expires.signed_duration_since(response_date(headers).unwrap_or(now));
    lifetime.num_seconds().clamp(0, MAX_SECONDS)
}

fn age(headers: &HeaderMap, now: DateTime<Utc>) -> i64 {
    let apparent = now.signed_duration_since(response_date(headers).unwrap_or(now)).num_seconds();
    let stated = values(headers, AGE).next().and_then(seconds);
    apparent.max(stated.unwrap_or(0)).max(0)
}

fn response_date(headers: &HeaderMap) -> Option<DateTime<Utc>> {
    date(headers.get(DATE)?.to_str().ok()?)
}

fn values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

fn directive(text: &str) -> (String, &str) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (name.trim().to_ascii_lowercase(), value.trim().trim_matches('"'))
}

fn seconds(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(MAX_SECONDS).min(MAX_SECONDS))
}

pub(crate) fn date(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Ok(date) = DateTime::parse_from_rfc2822(text) {
        return Some(date.with_timezone(&Utc));
    }
    let obsolete = |form| NaiveDateTime::parse_from_str(text, form).ok();
    OBSOLETE_DATES.into_iter().find_map(obsolete).map(|date| date.and_utc())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const NOW: &str = "Sun, 29 Nov 2026 12:00:00 GMT";

    fn of(lines: &[(&'static str, &str)]) -> Caching {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_static(name);
            headers.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        Caching::of(&headers, date(NOW).expect("a date"))
    }

    #[test]
    fn an_entity_tag_or_a_date_is_a_validator() {
        assert!(of(&[("etag", "W/\"1\"")]).has_validator);
        assert!(of(&[("last-modified", NOW)]).has_validator);
        assert!(!of(&[("etag", ""), ("cache-control", "max-age=60"), ("date", NOW)]).has_validator);
    }

    #[test]
    fn a_response_is_fresh_for_as_long_as_it_states() {
        let year = "max-age=31536000";
        for (lines, seconds) in [
            (&[("cache-control", "max-age=60")][..], 60),
            (&[("cache-control", "Public, MAX-AGE = \"60\", immutable")], 60),
            (&[("cache-control", "public"), ("cache-control", "max-age=60")], 60),
            (&[("cache-control", "max-age=60, max-age=90")], 60),
            (&[("cache-control", "max-age=99999999999999999999")], MAX_SECONDS),
            (&[("cache-control", "max-age=-1")], 0),
            (&[("cache-control", "max-age=soon"), ("expires", "Mon, 30 Nov 2026 12:00:00 GMT")], 0),
            (&[("cache-control", "s-maxage=60")], 0),
            (&[("cache-control", year), ("cache-control", "no-store")], 0),
            (&[("cache-control", "no-cache, max-age=31536000")], 0),
            (&[("cache-control", "no-cache=\"set-cookie\", max-age=60")], 60),
            (&[("cache-control", year), ("vary", "accept, *")], 0),
            (&[("cache-control", "max-age=60"), ("vary", "accept-encoding")], 60),
            (&[("cache-control", "max-age=60"), ("age", "45")], 15),
            (&[("cache-control", "max-age=60"), ("age", "90")], -30),
            (&[("cache-control", "max-age=60"), ("date", "Sun, 29 Nov 2026 11:59:50 GMT")], 50),
            (&[("cache-control", "max-age=60"), ("date", "Sun, 29 Nov 2026 12:00:50 GMT")], 60),
            (&[("cache-control", "max-age=60"), ("expires", NOW)], 60),
            (&[("expires", "Mon, 30 Nov 2026 12:00:00 GMT")], DAY),
            (&[("expires", "Monday, 30-Nov-26 12:00:00 GMT")], DAY),
            (&[("expires", "Mon Nov 30 12:00:00 2026")], DAY),
            (&[("expires", "Tue Dec  1 12:00:00 2026")], 2 * DAY),
            (&[("expires", "Sat, 28 Nov 2026 12:00:00 GMT")], 0),
            (&[("expires", "0")], 0),
            // The server's clock is a day behind, and so are both of its dates.
            (&[("expires", NOW), ("date", "Sat, 28 Nov 2026 12:00:00 GMT")], 0),
            (&[("last-modified", "Sat, 28 Nov 2020 12:00:00 GMT"), ("date", NOW)], 0),
            (&[], 0),
        ] {
            assert_eq!(of(lines).fresh_seconds, seconds, "{lines:?}");
        }
    }

    #[test]
    fn a_response_is_stale_as_soon_as_its_time_is_over() {
        let days = |days: i64, more: i64| Caching {
            has_validator: false,
            fresh_seconds: days * DAY + more,
        };
        assert!(days(30, 1).is_fresh_after(30));
        assert!(!days(30, 0).is_fresh_after(30));
        assert!(days(365, 0).is_fresh_after(90));
        assert!(!Caching::default().is_fresh_after(0));
    }

    proptest! {
        #[test]
        fn any_fields_are_read(
            values in proptest::array::uniform4("[ -~]{0,60}"),
        ) {
            let names = ["cache-control", "expires", "age", "date"];
            let lines: Vec<_> = names.into_iter().zip(values.each_ref().map(|v| &**v)).collect();
            prop_assert!(of(&lines).fresh_seconds <= MAX_SECONDS);
        }
    }
}
