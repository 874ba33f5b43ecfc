//! Converts between pages and their targets (path and query). Each page has one normalized target.
//! All spellings that normalize to it refer to the page. Other targets do not exist.

use super::{
    names::WORDS,
    world::{GraphPage, PageKind, SiteGraph},
};

/// Parameters for sessions and campaigns, which are not part of a normalized target.
const IGNORED: [&str; 4] = ["phpsessid", "jsessionid", "gclid", "fbclid"];

impl SiteGraph {
    /// Returns a page's normalized URL, which a crawler uses as its key.
    #[must_use]
    pub fn url(&self, page: GraphPage) -> String {
        format!("{}{}", self.origin(page.host), self.target(page))
    }

    /// Returns a host's scheme and name.
    #[must_use]
    pub fn origin(&self, host: u64) -> String {
        let scheme = if self.has_https(host) { "https" } else { "http" };
        format!("{scheme}://{}", self.host_name(host))
    }

    pub(super) fn target(&self, page: GraphPage) -> String {
        let number = page.page;
        let word = |number: u64| WORDS[(number % WORDS.len() as u64) as usize];
        match (number, self.kind(page)) {
            (0, _) => "/".to_owned(),
            (_, PageKind::Forbidden) => format!("/private/{number}.html"),
            (_, PageKind::Image | PageKind::LinkedImage) => format!("/media/{number}.png"),
            (_, PageKind::Document) => format!("/docs/{number}.pdf"),
            _ => match number % 4 {
                0 => format!("/p/{number}.html"),
                1 => format!("/s{}/{}-{number}", number / 50, word(number / 4)),
                2 => format!("/item?cat={}&id={number}", number % 7),
                _ => format!("/~u{}/{number}/", number % 5),
            },
        }
    }

    pub(super) fn page_of_target(&self, host: u64, target: &str) -> Option<GraphPage> {
        let target = normal_form(target)?;
        let number = match target.as_str() {
            "/" => 0,
            _ => last_number(&target)?,
        };
        let page = GraphPage { host, page: number };
        (number < self.pages_of(host) && self.target(page) == target).then_some(page)
    }

    /// Returns a URL's page. Any spelling that normalizes to the page's URL is accepted, but the
    /// scheme must be the host's, and there must be no dot segments or fragment.
    #[must_use]
    pub fn page_of_url(&self, url: &str) -> Option<GraphPage> {
        let (scheme, rest) = url.split_once("://")?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at_checked(at)?;
        let (name, port) = authority.split_once(':').unwrap_or((authority, ""));
        let host = self.host_of_name(name)?;
        let (own, usual) = if self.has_https(host) { ("https", "443") } else { ("http", "80") };
        let is_origin = scheme == own && (port.is_empty() || port == usual);
        is_origin
            .then(|| self.page_of_target(host, if target.is_empty() { "/" } else { target }))?
    }
}

fn last_number(target: &str) -> Option<u64> {
    let end = target.rfind(|c: char| c.is_ascii_digit())? + 1;
    let digits = target.get(..end)?;
    let start = digits.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    digits.get(start..)?.parse().ok()
}

fn normal_form(target: &str) -> Option<String> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = decoded(path)?;
    let path = path.split(';').next().unwrap_or_default();
    let is_kept = |piece: &&str| {
        let name = piece.split('=').next().unwrap_or_default().to_ascii_lowercase();
        !name.is_empty() && !name.starts_with("utm_") && !IGNORED.contains(&name.as_str())
    };
    let mut pieces: Vec<&str> = query.split('&').filter(is_kept).collect();
    pieces.sort_by_key(|piece| piece.split('=').next());
    Some(if pieces.is_empty() { path.to_owned() } else { format!("{path}?{}", pieces.join("&")) })
}

fn decoded(path: &str) -> Option<String> {
    let mut pieces = path.split('%');
    let mut decoded = pieces.next()?.to_owned();
    for piece in pieces {
        let byte = u8::from_str_radix(piece.get(..2)?, 16).ok().filter(u8::is_ascii_graphic)?;
        decoded.push(char::from(byte));
        decoded.push_str(piece.get(2..)?);
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::settings::GraphSettings;

    #[test]
    fn every_page_is_found_by_its_target_and_by_no_other() {
        let graph = SiteGraph::new(1, GraphSettings::default()).unwrap();
        for host in 0..graph.hosts() {
            for page in (0..graph.pages_of(host)).map(|page| GraphPage { host, page }) {
                let target = graph.target(page);
                assert_eq!(graph.page_of_target(host, &target), Some(page), "{target}");
                assert_eq!(graph.page_of_url(&graph.url(page)), Some(page), "{target}");
                assert_eq!(graph.page_of_target(host, &format!("{target}x")), None);
            }
        }
        for target in ["", "/x", "/p/4.htm", "/p/04.html", "/p/99999999.html", "/%", "//", "/%zz"] {
            assert_eq!(graph.page_of_target(0, target), None, "{target}");
        }
    }

    #[test]
    fn other_spellings_of_a_key_mean_the_same_page() {
        let graph = SiteGraph::new(1, GraphSettings::plain(1, 1, 100)).unwrap();
        for (target, page) in [
            ("/?utm_source=x", 0),
            ("/p/4.html;jsessionid=1A", 4),
            ("/%70/4.html?PHPSESSID=a&gclid=", 4),
            ("/item?id=6&utm_a=&cat=6", 6),
            ("/%7Eu2/7/", 7),
            ("/p/4.html?", 4),
        ] {
            let found = graph.page_of_target(0, target);
            assert_eq!(found, Some(GraphPage { host: 0, page }), "{target}");
        }
    }
}
