//! Parses lines in list files.
//!
//! In UT1 lists, each line of `domains` has a domain or an address, and each line of `urls` has a
//! host and a path prefix. Other files are hosts files, plain names, URLs, and ad blocker rules for
//! a whole domain (`||name^`, `*.name`).

use std::net::IpAddr;

use url::{Host, Url};

/// Maximum line length in bytes. Lines beyond this limit are malformed.
pub const MAX_LIST_LINE_BYTES: usize = 4 << 10;

/// Maximum words in a hosts file's line. Words beyond this limit are ignored.
const MAX_NAMES: usize = 64;
/// Names that hosts files give to the local host.
const OWN_NAMES: [&str; 4] = ["localhost", "localhost.localdomain", "local", "broadcasthost"];

/// A file's line format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFileKind {
    /// Domains, including everything below them, one per line.
    Domains,
    /// Hosts with a path prefix, one per line.
    Urls,
    /// A hosts file, plain names, URLs or simple rules.
    Hosts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListedName {
    Host(String),
    /// A domain, including everything below it.
    Domain(String),
    /// A host, and a path prefix with its slash.
    Url(String, String),
}

/// Returns no entries for an empty line or a comment, and `None` for a malformed line.
pub(super) fn names_of_line(kind: ListFileKind, line: &[u8]) -> Option<Vec<ListedName>> {
    if line.len() > MAX_LIST_LINE_BYTES {
        return None;
    }
    let line = std::str::from_utf8(line).ok()?.trim();
    let is_of_blocker = kind == ListFileKind::Hosts && line.starts_with(['!', '[']);
    if line.is_empty() || line.starts_with('#') || is_of_blocker {
        return Some(Vec::new());
    }
    match kind {
        ListFileKind::Domains => {
            let name = host(line.strip_prefix('.').unwrap_or(line))?;
            Some(vec![domain_of(name)])
        }
        ListFileKind::Urls => Some(vec![url_of(line)?]),
        ListFileKind::Hosts => names_of_hosts(line),
    }
}

fn names_of_hosts(line: &str) -> Option<Vec<ListedName>> {
    // A comment starts after a space.
    let words: Vec<&str> =
        line.split_whitespace().take_while(|word| !word.starts_with('#')).take(MAX_NAMES).collect();
    let names = match words.split_first() {
        Some((first, names)) if !names.is_empty() => match first.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() || address.is_loopback() => names,
            // The line maps names to an address instead of listing them.
            Ok(_) => return None,
            Err(_) => &words[..],
        },
        _ => &words[..],
    };
    let is_own = |word: &str| {
        OWN_NAMES.contains(&word)
            || word.starts_with("ip6-")
            || word.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified() || ip.is_loopback())
    };
    names.iter().filter(|word| !is_own(word)).map(|word| name_of(word)).collect()
}

fn name_of(word: &str) -> Option<ListedName> {
    if let Some(rule) = word.strip_prefix("||") {
        return Some(domain_of(host(rule.strip_suffix('^').unwrap_or(rule))?));
    }
    if let Some(name) = word.strip_prefix("*.") {
        return Some(domain_of(host(name)?));
    }
    if let Some((_, rest)) = word.split_once("://") {
        return url_of(rest);
    }
    if word.contains('/') { url_of(word) } else { host(word).map(ListedName::Host) }
}

/// Parses a URL with or without scheme. Without a path, the result is the host.
fn url_of(text: &str) -> Option<ListedName> {
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    // URLs encode paths, so encode this one, too.
    let url = Url::parse(&format!("http://{text}")).ok()?;
    let name = host(url.host_str()?)?;
    let path = url.path();
    match url.query() {
        None if path == "/" => Some(ListedName::Host(name)),
        None => Some(ListedName::Url(name, path.to_owned())),
        Some(query) => Some(ListedName::Url(name, format!("{path}?{query}"))),
    }
}

/// An address has nothing below it.
fn domain_of(name: String) -> ListedName {
    let is_address = name.starts_with('[') || name.parse::<IpAddr>().is_ok();
    if is_address { ListedName::Host(name) } else { ListedName::Domain(name) }
}

/// Returns a host as URLs contain it: lower case, punycode, no trailing dot.
fn host(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    // Fast path for most names.
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'-' | b'0'..=b'9');
    let last = text.rsplit('.').next().unwrap_or_default();
    let is_alphabetic = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_lowercase());
    let has_labels = text.contains('.') && !text.contains("..") && !text.starts_with('.');
    if is_alphabetic && has_labels && text.bytes().all(is_plain) && !text.contains("xn--") {
        return (text.len() <= 253).then(|| text.to_owned());
    }
    match Host::parse(text).ok()? {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            let is_name = name.contains('.') && name.len() <= 253 && !name.starts_with('.');
            (is_name && !name.contains("..")).then(|| name.to_owned())
        }
        address => Some(address.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(kind: ListFileKind, line: &str) -> Option<String> {
        let names = names_of_line(kind, line.as_bytes())?;
        let text = |name: &ListedName| match name {
            ListedName::Host(name) => format!("={name}"),
            ListedName::Domain(name) => format!(".{name}"),
            ListedName::Url(name, path) => format!("/{name}{path}"),
        };
        Some(names.iter().map(text).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn each_file_format_is_parsed() {
        use ListFileKind::{Domains, Hosts, Urls};
        for (kind, line, expected) in [
            (Domains, "example.com", Some(".example.com")),
            (Domains, ".Example.COM.", Some(".example.com")),
            (Domains, "bücher.example", Some(".xn--bcher-kva.example")),
            (Domains, "192.0.2.7", Some("=192.0.2.7")),
            (Domains, "[2001:DB8::1]", Some("=[2001:db8::1]")),
            (Domains, "com", None),
            (Domains, "a b.example", None),
            (Domains, "# remark", Some("")),
            (Urls, "example.com/~user", Some("/example.com/~user")),
            (Urls, "http://www.example.com/a/b.html?x=1", Some("/www.example.com/a/b.html?x=1")),
            (Urls, "example.com", Some("=example.com")),
            (Urls, "example.com/", Some("=example.com")),
            (Urls, "example.com/ü", Some("/example.com/%C3%BC")),
            (Hosts, "0.0.0.0 a.example b.example # why", Some("=a.example =b.example")),
            (Hosts, "127.0.0.1 localhost", Some("")),
            (Hosts, "::1 ip6-localhost", Some("")),
            (Hosts, "192.0.2.1 safe.example", None),
            (Hosts, "a.example", Some("=a.example")),
            (Hosts, "||a.example^", Some(".a.example")),
            (Hosts, "||a.example/x^", None),
            (Hosts, "||a.example^$script", None),
            (Hosts, "*.a.example", Some(".a.example")),
            (Hosts, "https://a.example/", Some("=a.example")),
            (Hosts, "https://a.example/x", Some("/a.example/x")),
            (Hosts, "! remark", Some("")),
            (Hosts, "a.example##.ad", None),
            (Hosts, "@@||a.example^", None),
        ] {
            assert_eq!(shown(kind, line).as_deref(), expected, "{kind:?} {line}");
        }
        assert_eq!(shown(Domains, &"a.".repeat(3_000)), None);
        assert_eq!(names_of_line(Hosts, b"\xff.example"), None);
    }

    proptest! {
        #[test]
        fn any_line_names_hosts_as_urls_have_them_or_nothing(line in "\\PC{0,40}") {
            use ListFileKind::{Domains, Hosts, Urls};
            for kind in [Domains, Urls, Hosts] {
                for name in names_of_line(kind, line.as_bytes()).unwrap_or_default() {
                    let (ListedName::Host(host) | ListedName::Domain(host)
                        | ListedName::Url(host, _)) = name;
                    let url = Url::parse(&format!("http://{host}/")).unwrap();
                    prop_assert_eq!(url.host_str(), Some(host.as_str()));
                }
            }
        }
    }
}
