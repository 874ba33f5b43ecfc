//! Matches `frame-ancestors`, which lists the origins that may show a page in a frame (CSP3 6.7.2,
//! "does url match expression in origin").
//!
//! Like Chromium, we ignore a query after a path, and match an http source with an https viewer
//! only on ports to which it can be upgraded.

use url::{Host, Url};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AncestorList {
    sources: Vec<String>,
}

pub(crate) struct ViewerMatch<'a> {
    pub(crate) page: Option<&'a Url>,
    /// The viewer's URL. `None` is an https origin that no list names.
    pub(crate) viewer: Option<&'a Url>,
}

/// Returns the `frame-ancestors` lists from the policies in a header. If a policy repeats this
/// directive, only the first one counts, even if it is invalid.
pub(crate) fn lists(value: &str) -> Vec<AncestorList> {
    value.split(',').filter_map(list).collect()
}

fn list(policy: &str) -> Option<AncestorList> {
    let (directive, words) = policy.split(';').find_map(|directive| {
        let mut words = directive.split_ascii_whitespace();
        let name = words.next()?;
        name.eq_ignore_ascii_case("frame-ancestors").then_some((directive, words))
    })?;
    let is_valid = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let sources = words.take(MAX_SOURCES).map(str::to_owned).collect();
    directive.bytes().all(is_valid).then_some(AncestorList { sources })
}

/// Maximum sources to read from a list. Real lists have up to a few dozen.
const MAX_SOURCES: usize = 500;

impl AncestorList {
    /// Returns true if no origin may show the page, because the list is empty or contains only
    /// `'none'`.
    pub(crate) fn is_none(&self) -> bool {
        match self.sources.as_slice() {
            [] => true,
            [only] => only.eq_ignore_ascii_case("'none'"),
            _ => false,
        }
    }

    /// Returns true if a source names hosts. The result then depends on the viewer.
    pub(crate) fn names_hosts(&self) -> bool {
        self.sources.iter().any(|source| {
            HostSource::parse(source).is_some_and(|host| host.host != "*" && host.path_is_root())
        })
    }

    pub(crate) fn text(&self) -> String {
        self.sources.join(" ")
    }

    pub(crate) fn allows(&self, viewer: &ViewerMatch<'_>) -> bool {
        !self.is_none() && self.sources.iter().any(|source| viewer.matches(source))
    }
}

impl ViewerMatch<'_> {
    fn viewer_scheme(&self) -> &str {
        self.viewer.map_or("https", Url::scheme)
    }

    fn matches(&self, source: &str) -> bool {
        if source == "*" {
            return matches!(self.viewer_scheme(), "http" | "https");
        }
        if source.eq_ignore_ascii_case("'self'") {
            return self.is_self();
        }
        if let Some(scheme) = source.strip_suffix(':').filter(|scheme| is_scheme(scheme)) {
            return scheme_matches(scheme, self.viewer_scheme());
        }
        HostSource::parse(source).is_some_and(|host| self.matches_host(&host))
    }

    fn is_self(&self) -> bool {
        let (Some(page), Some(viewer)) = (self.page, self.viewer) else { return false };
        let defaults = |url: &Url| url.port().is_none();
        page.origin() == viewer.origin()
            || (page.host() == viewer.host()
                && page.scheme() == "http"
                && viewer.scheme() == "https"
                && defaults(page)
                && defaults(viewer))
    }

    fn matches_host(&self, source: &HostSource<'_>) -> bool {
        let page_scheme = self.page.map_or("https", Url::scheme);
        let scheme = source.scheme.unwrap_or(page_scheme);
        let is_upgraded = !scheme.eq_ignore_ascii_case(self.viewer_scheme());
        if !scheme_matches(scheme, self.viewer_scheme()) || !source.path_is_root() {
            return false;
        }
        let host_matches = match self.viewer.map(Url::host) {
            // If the viewer is unknown, only a wildcard matches it.
            None => source.host == "*",
            Some(Some(Host::Domain(host))) => host_part_matches(source.host, host),
            Some(_) => false,
        };
        let port = self.viewer.and_then(Url::port);
        let default = match self.viewer_scheme() {
            "https" if is_upgraded => None,
            "https" => Some(443),
            _ => Some(80),
        };
        host_matches && port_part_matches(source.port, port, default)
    }
}

fn scheme_matches(policy: &str, viewer: &str) -> bool {
    policy.eq_ignore_ascii_case(viewer)
        || (policy.eq_ignore_ascii_case("http") && viewer == "https")
}

fn host_part_matches(pattern: &str, host: &str) -> bool {
    let ends_with = |end: &str| {
        host.len()
            .checked_sub(end.len())
            .and_then(|at| host.get(at..))
            .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    };
    match pattern.strip_prefix('*') {
        Some("") => true,
        // Keep the dot in `*.example.com`, so that example.com does not match.
        Some(end) => host.len() > end.len() && ends_with(end),
        None => pattern.eq_ignore_ascii_case(host),
    }
}

/// `default` is the viewer's default port. `None` means that http was upgraded to https: only port
/// 80 then matches the viewer's default port.
fn port_part_matches(pattern: Option<&str>, port: Option<u16>, default: Option<u16>) -> bool {
    match (pattern, default) {
        (None, _) => port.is_none(),
        (Some("*"), _) => true,
        (Some(digits), Some(default)) => digits.parse() == Ok(port.unwrap_or(default)),
        (Some(digits), None) => digits.parse() == Ok(80) && port.is_none(),
    }
}

/// A source in the form `[scheme "://"] host [":" port] [path]`.
struct HostSource<'a> {
    scheme: Option<&'a str>,
    host: &'a str,
    port: Option<&'a str>,
    path: &'a str,
}

impl<'a> HostSource<'a> {
    fn parse(source: &'a str) -> Option<Self> {
        let (scheme, rest) = match source.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            Some(_) => return None,
            None => (None, source),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        };
        let port_is_good = port.is_none_or(|port| {
            port == "*" || (!port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let path = path.split(['?', '#']).next().unwrap_or_default();
        (is_host(host) && port_is_good).then_some(Self { scheme, host, port, path })
    }

    /// Other paths match nothing, because the viewer is compared as an origin with the path "/".
    fn path_is_root(&self) -> bool {
        matches!(self.path, "" | "/")
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

fn is_host(text: &str) -> bool {
    if text == "*" {
        return true;
    }
    let labels = text.strip_prefix("*.").unwrap_or(text);
    let labels = labels.strip_suffix('.').unwrap_or(labels);
    labels.split('.').all(|label| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(value: &str, page: &str, viewer: &str) -> bool {
        let (page, viewer) = (Url::parse(page).unwrap(), Url::parse(viewer).unwrap());
        let who = ViewerMatch { page: Some(&page), viewer: Some(&viewer) };
        let lists = lists(value);
        assert!(!lists.is_empty(), "no list in {value}");
        lists.iter().all(|list| list.allows(&who))
    }

    #[test]
    fn sources_match_the_viewer_as_in_csp() {
        let (page, viewer) = ("https://page.example/", "https://v.example");
        for (source, expected) in [
            ("*", true),
            ("https:", true),
            ("http:", true),
            ("HTTPS:", true),
            ("wss:", false),
            ("data:", false),
            ("v.example", true),
            ("V.EXAMPLE", true),
            ("https://v.example", true),
            ("http://v.example", true),
            ("https://v.example/", true),
            ("https://v.example/app", false),
            ("https://v.example:443", true),
            ("https://v.example:*", true),
            ("https://v.example:8443", false),
            ("https://v.example:80", false),
            ("http://v.example:80", true),
            ("http://v.example:443", false),
            ("http://v.example:*", true),
            ("v.example:80", false),
            ("v.example:443", true),
            ("v.example/?q", true),
            ("v.example?q", false),
            ("*.v.example", false),
            ("*.example", true),
            ("https://*.example", true),
            ("https://*", true),
            ("*:*", true),
            ("*:8443", false),
            ("other.example", false),
            ("xv.example", false),
            ("'self'", false),
            ("'none'", false),
            ("'NONE'", false),
            ("'none' https://v.example", true),
            ("'self' https://v.example", true),
            ("'unsafe-inline'", false),
            ("'nonce-abc'", false),
            ("v..example", false),
            ("", false),
        ] {
            assert_eq!(
                allows(&format!("frame-ancestors {source}"), page, viewer),
                expected,
                "{source}"
            );
        }
    }

    #[test]
    fn an_https_source_does_not_cover_an_http_viewer() {
        assert!(!allows("frame-ancestors https:", "http://p.example/", "http://v.example"));
        assert!(allows("frame-ancestors http:", "http://p.example/", "http://v.example"));
        assert!(!allows("frame-ancestors v.example", "https://p.example/", "http://v.example"));
        assert!(allows("frame-ancestors v.example", "http://p.example/", "https://v.example"));
        let on_8443 = "https://v.example:8443";
        assert!(allows("frame-ancestors https://*:8443", "https://p.example/", on_8443));
        assert!(!allows("frame-ancestors http://*:8443", "https://p.example/", on_8443));
        assert!(!allows("frame-ancestors http://*:80", "https://p.example/", on_8443));
        assert!(allows("frame-ancestors http://*:*", "https://p.example/", on_8443));
    }

    #[test]
    fn addresses_never_match_and_self_is_the_same_origin() {
        assert!(!allows("frame-ancestors 192.0.2.1", "https://p.example/", "https://192.0.2.1"));
        assert!(!allows(
            "frame-ancestors [2001:db8::1]",
            "https://p.example/",
            "https://[2001:db8::1]"
        ));
        assert!(allows("frame-ancestors 'self'", "https://p.example/a", "https://p.example"));
        assert!(allows("frame-ancestors 'self'", "http://p.example/a", "https://p.example"));
        assert!(!allows("frame-ancestors 'self'", "https://p.example/a", "http://p.example"));
        assert!(!allows("frame-ancestors 'self'", "https://p.example/", "https://p.example:8443"));
    }

    #[test]
    fn policies_are_separated_by_commas_and_the_first_directive_counts() {
        let count = |value: &str| lists(value).len();
        assert_eq!(count("default-src 'none'"), 0);
        assert_eq!(count("frame-ancestors a, default-src b, frame-ancestors c"), 2);
        assert_eq!(count("frame-ancestorsx *; xframe-ancestors *"), 0);
        assert_eq!(count("frame-ancestors\u{e9} *"), 0);
        assert_eq!(lists("Frame-Ancestors a ; frame-ancestors b")[0].text(), "a");
        assert_eq!(count("frame-ancestors \u{e9}; frame-ancestors b"), 0);
        assert_eq!(count("frame-ancestors 'none'\u{b}"), 0);
        assert_eq!(lists("img-src \u{e9}; frame-ancestors b")[0].text(), "b");
        assert_eq!(lists(";; frame-ancestors\ta\t b ;")[0].text(), "a b");
        let (page, viewer) = ("https://p.example/", "https://v.example");
        assert!(!allows("frame-ancestors *, frame-ancestors 'none'", page, viewer));
        assert!(allows("frame-ancestors *, frame-ancestors https:", page, viewer));
    }
}
