//! Detects URLs that only traps or broken templates produce, by the URL alone.
//!
//! Does not depend on budgets, which count URLs.

use crate::{canonical::CanonicalUrl, turned_away::TurnedAway};

/// Maximum segments in a path. Real pages have fewer than 10.
const MAX_SEGMENTS: usize = 20;

/// Maximum parameters in a query. The facets of shops combine without end.
const MAX_PARAMETERS_PER_URL: usize = 12;

/// A path with this many copies of a segment comes from a relative link that is resolved again and
/// again.
const SEGMENT_LIMIT: usize = 3;

/// Returns why a URL is a trap. `None` if it is not.
pub(crate) fn trap(url: &CanonicalUrl) -> Option<TurnedAway> {
    let path = url.path();
    let segments = || path.split('/').filter(|segment| !segment.is_empty());
    // Empty segments count, too, except the last: `//` is kept, so `////` could grow without end.
    if path.strip_suffix('/').unwrap_or(path).split('/').skip(1).count() > MAX_SEGMENTS {
        return Some(TurnedAway::TrapSegments);
    }
    let query = url.query();
    if !query.is_empty() && query.split('&').count() > MAX_PARAMETERS_PER_URL {
        return Some(TurnedAway::TrapParameters);
    }
    let is_repeated =
        |segment: &str| segments().filter(|other| *other == segment).count() >= SEGMENT_LIMIT;
    if segments().any(is_repeated) {
        return Some(TurnedAway::TrapRepeatedSegment);
    }
    let own = without_www(url.host());
    if segments().any(|segment| is_hostname(segment, own)) {
        return Some(TurnedAway::TrapHostSegment);
    }
    None
}

fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

/// Returns true if a segment is the URL's own host, with or without `www.`, or any name that starts
/// with `www.` and has another dot. Other hostnames may be the subject of a page.
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

    fn found(path: &str) -> Option<TurnedAway> {
        let url = format!("http://www.shop.example/{path}");
        trap(&CanonicalUrl::parse(&url, &ParameterList::default()).unwrap())
    }

    #[test]
    fn each_trap_is_found_by_its_reason() {
        let many = |text: &str, times| text.repeat(times);
        for (path, reason) in [
            ("a/b/a/c/a", TurnedAway::TrapRepeatedSegment),
            ("www.shop.example/x", TurnedAway::TrapHostSegment),
            ("x/shop.example", TurnedAway::TrapHostSegment),
            ("x/WWW.Other.example/y", TurnedAway::TrapHostSegment),
            (&many("/", 21), TurnedAway::TrapSegments),
            (&(0..21).map(|n| format!("{n}/")).collect::<String>(), TurnedAway::TrapSegments),
            (&format!("?{}", many("a&", 13)), TurnedAway::TrapParameters),
        ] {
            assert_eq!(found(path), Some(reason), "{path}");
        }
    }

    #[test]
    fn real_pages_are_no_traps() {
        let deep = (0..20).map(|n| format!("{n}/")).collect::<String>();
        let query = format!("?{}", (0..12).map(|n| format!("p{n}=1&")).collect::<String>());
        for path in ["", "a/b/a/c", "a//b", &deep, &query, "whois/other.example", "www.", "www.x"] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
