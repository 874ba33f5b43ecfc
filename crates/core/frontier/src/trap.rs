//! Detects URLs that only traps or broken templates produce, from the URL alone.

use crate::{canonical::CanonicalUrl, reject_reason::RejectReason};

/// Maximum segments in a path. Real pages have fewer than 10.
const MAX_SEGMENTS: usize = 20;

/// Maximum parameters in a query. URLs beyond this limit are rejected.
const MAX_PARAMETERS_PER_URL: usize = 12;

/// A segment that occurs this many times results from relative links that were resolved again and
/// again.
const SEGMENT_LIMIT: usize = 3;

pub(crate) fn trap(url: &CanonicalUrl) -> Option<RejectReason> {
    let path = url.path();
    let segments = || path.split('/').filter(|segment| !segment.is_empty());
    // Count empty segments except the last, because keys keep `//`, so `////` could grow endlessly.
    if path.strip_suffix('/').unwrap_or(path).split('/').skip(1).count() > MAX_SEGMENTS {
        return Some(RejectReason::TrapSegments);
    }
    let query = url.query();
    if !query.is_empty() && query.split('&').count() > MAX_PARAMETERS_PER_URL {
        return Some(RejectReason::TrapParameters);
    }
    let is_repeated =
        |segment: &str| segments().filter(|other| *other == segment).count() >= SEGMENT_LIMIT;
    if segments().any(is_repeated) {
        return Some(RejectReason::TrapRepeatedSegment);
    }
    let own = without_www(url.host());
    if segments().any(|segment| is_hostname(segment, own)) {
        return Some(RejectReason::TrapHostSegment);
    }
    None
}

fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

/// Returns true for the URL's own host with or without `www.`, and for any name with `www.`. Other
/// hostnames may be the subject of a page.
fn is_hostname(segment: &str, own_without_www: &str) -> bool {
    let is_prefixed = segment.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("www."));
    let name = if is_prefixed { &segment[4..] } else { segment };
    let is_dns = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    name.eq_ignore_ascii_case(own_without_www)
        || is_prefixed
            && name.bytes().all(is_dns)
            && name
                .split_once('.')
                .is_some_and(|(label, rest)| !label.is_empty() && !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::ParameterList;

    fn found(path: &str) -> Option<RejectReason> {
        let url = format!("http://www.shop.example/{path}");
        trap(&CanonicalUrl::parse(&url, &ParameterList::default()).unwrap())
    }

    #[test]
    fn each_trap_is_found_by_its_reason() {
        let many = |text: &str, times| text.repeat(times);
        for (path, reason) in [
            ("a/b/a/c/a", RejectReason::TrapRepeatedSegment),
            ("www.shop.example/x", RejectReason::TrapHostSegment),
            ("x/shop.example", RejectReason::TrapHostSegment),
            ("x/WWW.Other.example/y", RejectReason::TrapHostSegment),
            (&many("/", 21), RejectReason::TrapSegments),
            (&(0..21).map(|n| format!("{n}/")).collect::<String>(), RejectReason::TrapSegments),
            (&format!("?{}", many("a&", 13)), RejectReason::TrapParameters),
        ] {
            assert_eq!(found(path), Some(reason), "{path}");
        }
    }

    #[test]
    fn real_pages_are_not_traps() {
        let deep = (0..20).map(|n| format!("{n}/")).collect::<String>();
        let query = format!("?{}", (0..12).map(|n| format!("p{n}=1&")).collect::<String>());
        for path in ["", "a/b/a/c", "a//b", &deep, &query, "whois/other.example", "www.", "www.x"] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
